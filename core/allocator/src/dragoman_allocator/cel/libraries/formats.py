"""``format``: named formats of texts; the complaints are those of the API server."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from dragoman_allocator import names
from dragoman_allocator.cel import operators, values
from dragoman_allocator.cel.functions import function, method
from dragoman_allocator.cel.libraries import urls
from dragoman_allocator.cel.types import FORMAT
from dragoman_allocator.cel.values import NONE, Optional

_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_UUID: Final = re.compile("[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_BASE64: Final = re.compile("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_DATE: Final = re.compile("([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME: Final = re.compile("([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")


@dataclass(frozen=True, slots=True)
class Format:
    """A value of type ``kubernetes.NamedFormat``; ``size`` is the length of its pattern, which counts for the cost."""

    name: str
    check: Callable[[str], Sequence[str]]
    size: int


values.register(Format, FORMAT)
operators.register_equality(Format, lambda a, b: a.name == b.name)
values.UNHASHABLE.add(Format)


def _label_1035(name: str) -> list[str]:
    found = ["must be no more than 63 characters"] if names.size(name) > names.LABEL_LENGTH else []
    if not re.fullmatch(_LABEL_1035, name):
        rule = (
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
            "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
        )
        found.append(f"{rule}regex used for validation is '{_LABEL_1035}')")
    return found


def _as_prefix(check: Callable[[str], Sequence[str]]) -> Callable[[str], Sequence[str]]:
    """Check what may end in a dash because a name follows."""

    def run(name: str) -> Sequence[str]:
        return check(f"{name[:-2]}a" if len(name) > 1 and name.endswith("-") else name)

    return run


def _in_characters(check: Callable[[str], Sequence[str]]) -> Callable[[str], Sequence[str]]:
    """Complain about lengths with the older text of the API server."""
    return lambda name: [text.replace(" bytes", " characters") for text in check(name)]


def _unless(test: Callable[[str], object], complaint: str) -> Callable[[str], Sequence[str]]:
    return lambda text: () if test(text) else (complaint,)


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None or not 1 <= int(match[2]) <= 12:
        return False
    return 1 <= int(match[3]) <= monthrange(int(match[1]) or 4, int(match[2]))[1]


def _is_datetime(text: str) -> bool:
    date, _, rest = text.lower().partition("t")
    match = _TIME.fullmatch(rest.partition("t")[0])
    return _is_date(date) and match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


FORMATS: Final = {
    "dns1123Label": Format("DNS1123Label", _in_characters(names.label), 30),
    "dns1123Subdomain": Format("DNS1123Subdomain", _in_characters(names.subdomain), 60),
    "dns1035Label": Format("DNS1035Label", _label_1035, 30),
    "qualifiedName": Format("QualifiedName", names.label_key, 60),
    "dns1123LabelPrefix": Format("DNS1123LabelPrefix", _as_prefix(_in_characters(names.label)), 30),
    "dns1123SubdomainPrefix": Format("DNS1123SubdomainPrefix", _as_prefix(_in_characters(names.subdomain)), 60),
    "dns1035LabelPrefix": Format("DNS1035LabelPrefix", _as_prefix(_label_1035), 30),
    "labelValue": Format("LabelValue", names.label_value, 40),
    "uri": Format("URI", _unless(urls.is_request, "invalid URI"), 1103),
    "uuid": Format("uuid", _unless(_UUID.fullmatch, "does not match the UUID format"), 70),
    "byte": Format("byte", _unless(_BASE64.fullmatch, "invalid base64"), 84),
    "date": Format("date", _unless(_is_date, "invalid date"), 71),
    "datetime": Format("datetime", _unless(_is_datetime, "invalid datetime"), 71),
}


def _named(name: str) -> Optional:
    return Optional(FORMATS[name]) if name in FORMATS else NONE


def _validate(checked: Format, text: str) -> Optional:
    complaints = list(checked.check(text))
    return Optional(complaints) if complaints else NONE


def _constant(value: Format) -> Callable[[], Format]:
    return lambda: value


OVERLOADS: Final = (
    *(function(f"format.{name}", "-> Format", f"format.{name}", _constant(value)) for name, value in FORMATS.items()),
    function("format.named", "string -> optional<Format>", "format-named", _named),
    method("validate", "Format, string -> optional<list<string>>", "format-validate", _validate),
)
