"""The methods of an authorizer: declared for all expressions, though selectors have no value to call them on."""

from __future__ import annotations

from typing import Final

from dragoman_allocator.cel.functions import method

OVERLOADS: Final = (
    method("path", "Authorizer, string -> PathCheck", "authorizer_path"),
    method("group", "Authorizer, string -> GroupCheck", "authorizer_group"),
    method("serviceAccount", "Authorizer, string, string -> Authorizer", "authorizer_serviceaccount"),
    method("resource", "GroupCheck, string -> ResourceCheck", "groupcheck_resource"),
    method("subresource", "ResourceCheck, string -> ResourceCheck", "resourcecheck_subresource"),
    method("namespace", "ResourceCheck, string -> ResourceCheck", "resourcecheck_namespace"),
    method("name", "ResourceCheck, string -> ResourceCheck", "resourcecheck_name"),
    method("fieldSelector", "ResourceCheck, string -> ResourceCheck", "authorizer_fieldselector"),
    method("labelSelector", "ResourceCheck, string -> ResourceCheck", "authorizer_labelselector"),
    method("check", "PathCheck, string -> Decision", "pathcheck_check"),
    method("check", "ResourceCheck, string -> Decision", "resourcecheck_check"),
    method("errored", "Decision -> bool", "decision_errored"),
    method("error", "Decision -> string", "decision_error"),
    method("allowed", "Decision -> bool", "decision_allowed"),
    method("reason", "Decision -> string", "decision_reason"),
)
