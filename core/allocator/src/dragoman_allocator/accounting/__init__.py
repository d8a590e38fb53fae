"""Node-allocatable resources of devices (KEP-5517): what claims add to a pod, and whether it then fits a node."""

from dragoman_allocator.accounting.charges import AllocatedClaim, UnknownCharge, charged, charges
from dragoman_allocator.accounting.defaults import complete
from dragoman_allocator.accounting.devices import DeviceGone, Devices
from dragoman_allocator.accounting.fits import budget_fault, shortages
from dragoman_allocator.accounting.footprint import container_claims, pod_limits, pod_requests
from dragoman_allocator.accounting.lists import Amounts, texts
from dragoman_allocator.accounting.pods import Claims, UnusableClaim
from dragoman_allocator.accounting.scheduling import Attempt, Cluster, Code, Status

__all__ = [
    "AllocatedClaim",
    "Amounts",
    "Attempt",
    "Claims",
    "Cluster",
    "Code",
    "DeviceGone",
    "Devices",
    "Status",
    "UnknownCharge",
    "UnusableClaim",
    "budget_fault",
    "charged",
    "charges",
    "complete",
    "container_claims",
    "pod_limits",
    "pod_requests",
    "shortages",
    "texts",
]
