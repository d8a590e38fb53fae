"""An API server in the process: what the agent and the sandbox use of Kubernetes, over HTTP, in memory.

Why not kmock 0.8: it stores objects plainly. Resource versions, watches from a version, 409, 410, 422, the status
subresource, generations and server-side apply, which these tests are about, are not in it.
"""

from dragoman_testkit.sandbox.apiserver.errors import ApiFault, Cause
from dragoman_testkit.sandbox.apiserver.faults import Faults
from dragoman_testkit.sandbox.apiserver.resources import Resource
from dragoman_testkit.sandbox.apiserver.server import ApiServer

__all__ = ["ApiFault", "ApiServer", "Cause", "Faults", "Resource"]
