"""What all objects share: metadata, conditions, node selectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, dataclass_transform

import msgspec

if TYPE_CHECKING:
    from dragoman_allocator.quantity import Quantity

    RawQuantity: TypeAlias = str | int | float | Quantity
    """A quantity as it stands in JSON; ``quantity.parse`` reads it, and refuses what is neither text nor number."""
else:
    # msgspec hands the text of a number only to members of any type, and 1e3 is another quantity than 1000.0.
    RawQuantity = Any

Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]

JsonObject: TypeAlias = dict[str, Any]


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Struct(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """Base of all API structs: immutable, unknown members are ignored, absent ones are left out when written."""


class OwnerReference(Struct):
    """``metadata.ownerReferences[]``."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Metadata(Struct):
    """``metadata``; times as written (RFC 3339)."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: Int64 = 0
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[OwnerReference] | None = None


class Condition(Struct, omit_defaults=False):
    """A condition as meta/v1 has it."""

    type: str = ""
    status: str = ""
    # Left out where nobody observed one, while the other members are written also when they are empty.
    observed_generation: Int64 | msgspec.UnsetType | None = msgspec.UNSET
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class NodeSelectorRequirement(Struct):
    """One requirement on a label or on ``metadata.name``; operators In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class NodeSelectorTerm(Struct):
    """Requirements that must all hold; a term without any matches nothing."""

    match_expressions: list[NodeSelectorRequirement] | None = None
    match_fields: list[NodeSelectorRequirement] | None = None


class NodeSelector(Struct):
    """Terms of which one must hold."""

    node_selector_terms: list[NodeSelectorTerm] = []
