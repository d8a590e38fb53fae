"""Strict decoding of JSON-like data into frozen dataclasses: settings of core and plugins, opaque parameters.

Keys are ``dragoman_hookspecs.json_key`` of the field names; unknown keys are refused, types are exact, and every fault
is reported with its path. Nobody else knows pydantic.
"""

from dragoman.schema.decoding import (
    UnusableSchema,
    cast,
    check_schema,
    decode,
    encode,
    json_faults,
    keys,
    misfits,
)

__all__ = ["UnusableSchema", "cast", "check_schema", "decode", "encode", "json_faults", "keys", "misfits"]
