"""What PostgreSQL and its driver say when they refuse, in words that hold no data."""

from __future__ import annotations

import re

# What a refusal of the server means, by its SQLSTATE.
STATES = {
    "22P02": "text that a type does not take",
    "22007": "text that is no date or time",
    "22008": "a date or time out of range",
    "22003": "a number out of range",
    "22012": "a division by zero",
    "23502": "a NULL where none may be",
    "23505": "a key that is there already",
    "23514": "a row that a check of the table refuses",
    "3F000": "no such schema",
    "42601": "a syntax error",
    "42703": "no such column",
    "42704": "no such type or object",
    "42804": "types that do not fit",
    "42846": "a cast that there is none for",
    "42883": "no such function or operator for these types",
    "42P01": "no such table",
}
# The driver gives no state when it cannot connect: then the words decide, libpq's or the server's.
# Words of another language are unknown, and retried.
CONNECTING = "Failed to connect"
UNCONNECTED = (
    ("Temporary failure in name resolution", True, "unreachable", "the name service is away"),
    ("could not translate host name", False, "unknown_host", "there is no host of this name"),
    ('database ".*" does not exist', False, "no_database", "there is no database of this name"),
    ('role ".*" does not exist', False, "bad_login", "there is no login of this name"),
    ("password authentication failed", False, "bad_login", "wrong login or password"),
    ("no password supplied", False, "bad_login", "it wants a password"),
    ("authentication failed", False, "bad_login", "it does not know the login"),
    ("not permitted to log in", False, "bad_login", "the login may not connect"),
    ("no pg_hba.conf entry", False, "bad_login", "its pg_hba.conf does not let this login in"),
    ("CONNECT privilege", False, "bad_login", "the login has no right to this database"),
    ("does not support SSL", False, "no_tls", "it does not speak TLS, which sslmode asks for"),
    ("certificate|SSL error", False, "no_tls", "a certificate is missing or not trusted"),
    ("unrecognized configuration parameter", False, "bad_option", "it does not know an option"),
    ("invalid value for parameter", False, "bad_option", "it refuses the value of an option"),
    ("command-line argument|requires a value", False, "bad_option", "it cannot read the options"),
    ("invalid URI query parameter", False, "bad_option", "the driver does not know an option"),
    ("invalid .* value", False, "bad_option", "the driver refuses the value of an option"),
    ("definition of service", False, "bad_option", "the service is not defined"),
    ("hot standby|is read-only", True, "unreachable", "it is not what target_session_attrs wants"),
    ("Connection refused", True, "unreachable", "nothing answers at this host and port"),
    ("timeout expired", True, "unreachable", "nothing answered in time"),
    ("on socket", True, "unreachable", "nothing answers at this socket"),
    ("starting up|shutting down", True, "unreachable", "it is starting or stopping"),
    ("too many|slots", True, "unreachable", "it has no connection left"),
)
# Nor when it cannot make the passing table.
STATELESS = (
    ("read-only transaction", False, "read_only", "the connection may not write there"),
    ("permission denied", False, "read_only", "permission denied"),
)


def judge(error: Exception) -> tuple[bool, str, str]:
    """Say of a driver's error whether a retry may help, what code it has, and what it means."""
    import adbc_driver_postgresql.dbapi as adbc

    state = str(getattr(error, "sqlstate", None) or "")
    if not state:
        said = str(error)
        known = UNCONNECTED if CONNECTING in said else STATELESS
        found = next((what for words, *what in known if re.search(words, said)), None)
        if found is not None:
            return bool(found[0]), str(found[1]), str(found[2])
        lost = isinstance(error, adbc.OperationalError)
        return lost, "unreachable" if lost else "refused", ""
    if state == "25006":
        return False, "read_only", "the connection may not write there"
    if state == "42501":
        return False, "read_only", "permission denied"
    if state[:2] in ("08", "40", "53", "57") or state in ("55006", "55P03"):
        return True, "unreachable", f"SQLSTATE {state}"
    words = STATES.get(state, "")
    code = "bad_sql" if state[:2] in ("42", "3F") else "refused"
    return False, code, f"SQLSTATE {state}" + (f", {words}" if words else "")
