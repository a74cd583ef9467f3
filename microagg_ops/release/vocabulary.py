"""The words that a condition may use besides the names of columns.

A word that is in none of these lists, and names no column, is refused: so no condition can hold a
query, read a file or ask who is connected, whichever database reads it.
"""

from __future__ import annotations


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


KEYWORDS = _words("""
    and or not in is isnull notnull null true false unknown between symmetric like ilike rlike
    regexp glob similar to escape case when then else end distinct from for as at zone both leading
    trailing overlaps div mod xor interval with without local varying precision
    current_date current_timestamp localtimestamp
""")

# Of these and of types, what may stand before a parenthesis and yet is no call.
OPENERS = _words("""
    and or not in is between symmetric like ilike rlike regexp to escape case when then else from
    for overlaps div mod xor interval varying numeric decimal float char character varchar nvarchar
    time timetz datetime timestamp timestamptz
""")

# Names of what is not in the table: to some databases, unless they are quoted.
PSEUDO_COLUMNS = _words("""
    user current_user session_user system_user current_role current_catalog current_schema
    current_path current_time localtime sysdate systimestamp uid level rownum rowid oid ctid xmin
    xmax cmin cmax tableoid _rowid_ filename
""")

UNITS = _words("""
    microsecond microseconds millisecond milliseconds second seconds minute minutes hour hours
    day days week weeks month months quarter quarters year years decade decades century centuries
    epoch dow isodow doy isoyear
""")

# Types whose values are plain: what a cast to another reads (a catalogue, a document) is its own.
TYPES = _words("""
    bool boolean tinyint smallint int integer int2 int4 int8 bigint hugeint signed unsigned
    numeric decimal real float float4 float8 double char character varchar nvarchar text string
    date time timetz datetime timestamp timestamptz uuid
""")

# Scalar functions that see their arguments and nothing else.
FUNCTIONS = _words("""
    cast try_cast coalesce nullif ifnull nvl greatest least if iif
    lower upper initcap length len char_length character_length octet_length substring substr left
    right trim ltrim rtrim btrim lpad rpad replace translate reverse concat concat_ws position
    strpos instr locate starts_with ends_with startswith endswith prefix suffix contains split_part
    ascii regexp_like regexp_matches regexp_full_match regexp_replace regexp_substr regexp_extract
    abs ceil ceiling floor round trunc truncate sign sqrt cbrt power pow exp ln log log2 log10 mod
    div isnan isinf isfinite
    extract date_part datepart date_trunc datetrunc date_add date_sub dateadd adddate subdate
    add_months date_diff datediff timestampdiff timestampadd age year quarter month week day hour
    minute second weekday weekofyear dayofweek dayofyear dayofmonth isodow dayname monthname
    last_day make_date make_time make_timestamp to_date to_timestamp to_char to_number strftime
    strptime date_format str_to_date date time datetime timestamp julianday unixepoch epoch
    epoch_ms now curdate current_date current_timestamp
""")

# What sqlglot calls the types above.
PLAIN_TYPES = _words("""
    BOOLEAN TINYINT UTINYINT SMALLINT USMALLINT INT UINT MEDIUMINT BIGINT UBIGINT INT128 DECIMAL
    BIGDECIMAL UDECIMAL FLOAT DOUBLE UDOUBLE CHAR NCHAR VARCHAR NVARCHAR TEXT DATE TIME TIMETZ
    DATETIME TIMESTAMP TIMESTAMPNTZ TIMESTAMPTZ TIMESTAMPLTZ INTERVAL UUID
""")
