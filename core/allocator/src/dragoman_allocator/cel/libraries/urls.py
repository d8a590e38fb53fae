"""``url``: URLs as Go's ``net/url`` reads them, bytes and all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address
from typing import Final

from dragoman_allocator.cel import operators, values, work
from dragoman_allocator.cel.errors import EvaluationError
from dragoman_allocator.cel.functions import function, method
from dragoman_allocator.cel.types import URL
from dragoman_allocator.cel.values import Map

_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
_IN_PATH: Final = _UNRESERVED | frozenset(b"$&+,/:;=@")
_IN_HOST: Final = _UNRESERVED | frozenset(b"!$&'()*+,;=:[]<>\"")
_VALID_PATH: Final = _IN_PATH | frozenset(b"!$&'()*+,;=:@[]%")
_IN_FRAGMENT: Final = _UNRESERVED | frozenset(b"$&+,/:;=?@!()*")
_VALID_FRAGMENT: Final = _VALID_PATH | _IN_FRAGMENT
_IN_USER: Final = _UNRESERVED | frozenset(b"$&+,;=")
_USERINFO: Final = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_PORT: Final = re.compile(r"(?::[0-9]*)?")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_ESCAPE: Final = re.compile(rb"%([0-9a-fA-F]{2})?")


class _Invalid(ValueError):
    """The text is no URL."""


@dataclass(frozen=True, slots=True)
class Location:
    """A value of type ``kubernetes.URL``; ``path`` is unescaped, ``raw_path`` as written, the rest as it is printed."""

    scheme: str = ""
    opaque: str = ""
    user: str | None = None
    host: str = ""
    path: bytes = b""
    raw_path: str = ""
    query: str = ""
    forced_query: bool = False
    fragment: str = ""

    def escaped_path(self) -> str:
        """Give the path escaped: as written where that is valid."""
        return self.raw_path if _consists_of(self.raw_path, _VALID_PATH) else _escape(self.path, _IN_PATH)

    def host_and_port(self) -> tuple[str, str]:
        """Split the host."""
        host, port = self.host, ""
        colon = host.rfind(":")
        if colon >= 0 and _PORT.fullmatch(host[colon:]):
            host, port = host[:colon], host[colon + 1 :]
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        return host, port

    def __str__(self) -> str:
        scheme = f"{self.scheme}:" if self.scheme else ""
        query = f"?{self.query}" if self.query or self.forced_query else ""
        fragment = f"#{self.fragment}" if self.fragment else ""
        if self.opaque:
            return f"{scheme}{self.opaque}{query}{fragment}"
        authority = ""
        if self.host or self.user is not None:
            user = "" if self.user is None else f"{self.user}@"
            authority = f"//{user}{self.host}"
        return f"{scheme}{authority}{self.escaped_path()}{query}{fragment}"


values.register(Location, URL)
operators.register_equality(Location, lambda a, b: str(a) == str(b))


def _consists_of(text: str, valid: frozenset[int]) -> bool:
    work.characters(len(text))
    return all(byte in valid for byte in text.encode("utf-8", "surrogatepass"))


def _escape(raw: bytes, keep: frozenset[int]) -> str:
    return "".join(chr(byte) if byte in keep else f"%{byte:02X}" for byte in raw)


def _unescape(text: str, *, host: bool = False, zone: bool = False) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")

    def byte(match: re.Match[bytes]) -> bytes:
        if match[1] is None:
            raise _Invalid("invalid URL escape")
        code = int(match[1], 16)
        if host and code < 0x80 and code != ord("%"):
            raise _Invalid("invalid URL escape")
        if zone and code not in b"% " and code < 0x80 and code not in _IN_HOST:
            raise _Invalid("invalid URL escape")
        return bytes([code])

    if (host or zone) and any(b < 0x80 and b not in _IN_HOST and b != ord("%") for b in raw):
        raise _Invalid("invalid character in host name")
    return _ESCAPE.sub(byte, raw)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def parse(text: str, *, request: bool) -> Location:
    """Read a URL; ``request`` asks for an absolute one and takes no fragment apart. Raises ``ValueError``."""
    fragment = ""
    if not request:
        text, _, fragment = text.partition("#")
        unescaped = _unescape(fragment)
        if not _consists_of(fragment, _VALID_FRAGMENT):
            fragment = _escape(unescaped, _IN_FRAGMENT)
    if any(char < " " or char == "\x7f" for char in text) or (request and not text):
        raise _Invalid("invalid control character or empty URL")
    if text == "*":
        return Location(path=b"*", raw_path="*", fragment=fragment)
    scheme, rest = _split_scheme(text)
    forced = rest.endswith("?") and rest.count("?") == 1
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Location(scheme, rest, query=query, forced_query=forced, fragment=fragment)
        if request or ":" in rest.partition("/")[0]:
            raise _Invalid("invalid URI for request")
    user, host = None, ""
    if rest.startswith("//") and (scheme or (not request and not rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        user, host = _authority(scheme, authority)
        rest = slash + path
    return Location(scheme, "", user, host, _unescape(rest), rest, query, forced, fragment)


def _split_scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise _Invalid("missing protocol scheme")
    match = _SCHEME.match(text)
    return (match[1].lower(), text[match.end() :]) if match else ("", text)


def _authority(scheme: str, authority: str) -> tuple[str | None, str]:
    user, at, host = authority.rpartition("@")
    parsed = _host(scheme, host)
    if not at:
        return None, parsed
    if not _USERINFO.fullmatch(user):
        raise _Invalid("invalid userinfo")
    return ":".join(_escape(_unescape(part), _IN_USER) for part in user.split(":", 1)), parsed


def _host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise _Invalid("invalid IP-literal")
    if bracket == 0:
        return _literal_host(host)
    first, last = host.find(":"), host.rfind(":")
    if first >= 0:
        port = host[first if scheme in ("http", "https") else last :]
        if not _PORT.fullmatch(port):
            raise _Invalid(f"invalid port {port} after host")
    return _text(_unescape(host, host=True))


def _literal_host(host: str) -> str:
    close = host.rfind("]")
    if close < 0 or not _PORT.fullmatch(host[close + 1 :]):
        raise _Invalid("missing ']' in host or invalid port")
    name, percent, zone = host[1:close].partition("%25")
    inner = _text(_unescape(name, host=True) + _unescape(percent + zone, zone=True))
    address, percent, zone = inner.partition("%")
    if percent and not zone:
        raise _Invalid("zone must be a non-empty string")
    try:
        IPv6Address(address)
    except AddressValueError as error:
        raise _Invalid(f"invalid host: {error}") from None
    return f"[{inner}]{host[close + 1 :]}"


def _url(text: str) -> Location:
    try:
        parse(text, request=True)
        return parse(text, request=False)
    except ValueError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


def is_request(text: str) -> bool:
    """Tell whether the text is an absolute URL or path."""
    try:
        parse(text, request=True)
    except ValueError:
        return False
    return True


def _query(url: Location) -> Map:
    found: dict[str, list[str]] = {}
    work.characters(len(url.query))
    for part in url.query.split("&"):
        work.elements(1)
        key, _, value = part.partition("=")
        if not part or ";" in part:
            continue
        try:
            names = [_text(_unescape(text.replace("+", " "))) for text in (key, value)]
        except _Invalid:
            continue
        found.setdefault(names[0], []).append(names[1])
    return Map(found)


OVERLOADS: Final = (
    function("url", "string -> URL", "string_to_url", _url),
    function("isURL", "string -> bool", "is_url_string", is_request),
    method("getScheme", "URL -> string", "url_get_scheme", lambda url: url.scheme),
    method("getHost", "URL -> string", "url_get_host", lambda url: url.host),
    method("getHostname", "URL -> string", "url_get_hostname", lambda url: url.host_and_port()[0]),
    method("getPort", "URL -> string", "url_get_port", lambda url: url.host_and_port()[1]),
    method("getEscapedPath", "URL -> string", "url_get_escaped_path", Location.escaped_path),
    method("getQuery", "URL -> map<string, list<string>>", "url_get_query", _query),
)
