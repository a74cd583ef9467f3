"""What drivers of SQLAlchemy say when they refuse, in words that hold no data."""

from __future__ import annotations

# What the numbers of MySQL and MariaDB mean; of any other it is the class that decides.
NUMBERED = {
    1040: (True, "unreachable", "it has no connection left"),
    1044: (False, "bad_login", "the login has no right to this database"),
    1045: (False, "bad_login", "wrong login or password"),
    1049: (False, "no_database", "there is no database of this name"),
    1130: (False, "bad_login", "it does not let this host in"),
    1142: (False, "read_only", "permission denied"),
    1205: (True, "conflict", "another write takes long"),
    1213: (True, "conflict", "another write came between"),
    1290: (False, "read_only", "the server is read-only"),
    1792: (False, "read_only", "the transaction is read-only"),
    1836: (False, "read_only", "the server is read-only"),
    2003: (True, "unreachable", "nothing answers at this host and port"),
}
NO_HOST = ("Name or service not known", "nodename nor servname", "getaddrinfo failed")


def judge(error: Exception) -> tuple[bool, str, str]:
    """Say of a driver's error whether a retry may help, what code it has, and what it means."""
    import sqlite3

    import sqlalchemy as sa

    original = getattr(error, "orig", None)
    driver = type(original).__name__ if original else ""
    if getattr(original, "sqlite_errorcode", 0) == sqlite3.SQLITE_ERROR:
        return False, "bad_sql", driver
    number = next(iter(getattr(original, "args", ())), None)
    if number in NUMBERED and "mysql" in type(original).__module__:
        if number == 2003 and any(words in str(original) for words in NO_HOST):
            return False, "unknown_host", "there is no host of this name"
        return NUMBERED[number]
    if isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError):
        readonly = "readonly" in str(original).replace("-", "").replace(" ", "")
        return (False, "read_only", "read-only") if readonly else (True, "unreachable", driver)
    return False, "refused", driver
