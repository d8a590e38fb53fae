"""The hooks. Each docstring answers in one order: when, how often, what may already be true, what must never happen,
what is raised.

Rules for all of them:

- Hooks are plain functions: netlink, sysfs and setns block. Each plugin has a worker thread of its own (more if its
  descriptor says so), and scans have another, so one plugin never waits for a second one.
- A call has a time limit. One that passes it is *unknown*: until it has really returned, other calls for its device
  fail at once, and detaching and freeing wait for it.
- Everything that a hook returns as state is JSON and lives in the ledger.
- An exception other than those of ``dragoman_hookspecs.errors`` is a fault of the plugin and shown by its name.
"""

from __future__ import annotations

from collections.abc import Sequence

import pluggy

from dragoman_hookspecs import requests as req
from dragoman_hookspecs.allocations import Attached, ContainerEdits, JsonObject, Metadata, Prepared
from dragoman_hookspecs.devices import Inventory
from dragoman_hookspecs.errors import InvalidConfig
from dragoman_hookspecs.results import Recovered, WrittenMetadata

PROJECT = "dragoman"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def start() -> None:
    """Begin work: open handles, create what the settings ask for.

    When: after ``create``, before any other hook; in the name order of the plugins.
    How often: once; again with back-off while it raises, and after a ``stop`` where the agent becomes active again.
    May already be true: what it creates exists from an earlier life of the agent.
    Never: block for longer than the limit; touch devices that the ledger holds.
    Raises: anything marks the plugin degraded; it is tried again.
    """


@hookspec
def stop() -> None:
    """End work: close handles. Prepared devices stay as they are.

    When: in reverse order at shutdown and before another agent of the node takes over; before the object is made anew
    for other settings.
    How often: once for each successful ``start``.
    May already be true: a watch hook is still returning.
    Never: free, detach or withdraw a device.
    Raises: anything is logged.
    """


@hookspec
def apply_settings(request: req.ApplySettings) -> None:
    """Take other settings without being made anew. Optional: without it core stops, creates and recovers.

    When: the section of the plugin changed and the new one was checked.
    How often: once for each change.
    May already be true: devices that the new settings no longer name are prepared; they stay served until free.
    Never: apply half: raise before the first effect, or finish.
    Raises: anything keeps the old settings and is reported.
    """


@hookspec
def discover_devices() -> Inventory:  # type: ignore[empty-body]
    """List every device of this manager that exists now, completely.

    When: at start, on a timer, after a hint of ``watch_devices``, and when the settings were loaded again.
    How often: at any time; on the scan thread, beside calls on devices.
    May already be true: some devices are inside pods and not visible; core keeps those that the ledger holds.
    Never: return a partial list as if it were complete (raise instead); change anything.
    Raises: anything keeps the last list, marked degraded. A failed scan withdraws nothing.
    """


@hookspec
def watch_devices(request: req.WatchDevices) -> None:
    """Watch for changes and call ``request.changed()``. Optional. A hint only: the scan is the truth.

    When: from start on, in a thread of its own.
    How often: once; again with back-off when it returns early or raises.
    May already be true: changes happened before the watch began; core scans after starting it.
    Never: outlive ``request.stopped`` by more than a second.
    Raises: anything is logged and the watch is started again.
    """


@hookspec
def check_config(request: req.CheckConfig) -> InvalidConfig | None:
    """Say whether the device can take these parameters. Pure: nothing is read from or written to the node. Optional.

    When: before any side effect of a prepare, for all devices of the claim.
    How often: any number of times, same answer for the same request.
    May already be true: nothing.
    Never: touch the node.
    Raises: return the fault, or raise ``InvalidConfig``; both are permanent and shown to the user.
    """


@hookspec
def plan_device(request: req.PlanDevice) -> JsonObject:  # type: ignore[empty-body]
    """Read what setup will change and say what it intends: intended names, former settings to restore. Optional.

    When: after all checks, before the ledger row. The result is durable before ``setup_device`` runs.
    How often: once for each prepare that is not a repetition.
    May already be true: left-overs of an earlier, freed allocation.
    Never: change anything.
    Raises: ``DeviceError`` or anything else fails the claim; nothing needs to be undone.
    """


@hookspec
def setup_device(request: req.SetupDevice) -> Prepared:  # type: ignore[empty-body]
    """Make the device ready for this allocation and say what attach will move.

    When: during prepare, in the order of the allocation results.
    How often: once; again after ``free_device`` if the first attempt was interrupted.
    May already be true: an interrupted earlier setup left its effects: finish them (idempotent).
    Never: take over or delete a link that this plugin did not make; choose the share; change another allocation.
    Raises: anything fails the claim; core then calls ``free_device`` with the plan.
    """


@hookspec
def attach_device(request: req.AttachDevice) -> Attached:  # type: ignore[empty-body]
    """Bring the prepared device into the pod's network namespace, under its final name, configured.

    When: the sandbox is started (NRI RunPodSandbox) or found by a repair; the snapshot of the host side is durable.
    How often: once for each sandbox; again after ``detach_device`` if an attempt failed.
    May already be true: an interrupted attempt moved or renamed the link.
    Never: move a link whose identity differs from the record; wait for the network.
    Raises: ``LinkMissing`` makes core recover the device and try once more; anything else undoes this device, leaves
    the guard closed and is tried again.
    """


@hookspec
def detach_device(request: req.DetachDevice) -> JsonObject:  # type: ignore[empty-body]
    """Bring the device back to the host as the snapshot says, and return the new state.

    When: the sandbox stops, an attach failed or was interrupted, the claim is unprepared while attached, or the
    namespace is gone (then ``request.netns`` is None).
    How often: until it succeeds.
    May already be true: the link is back already, was never moved, or vanished with the namespace.
    Never: touch a link of another identity; raise because the link is gone.
    Raises: anything keeps the row; it is tried again, and freeing waits.
    """


@hookspec
def free_device(request: req.FreeDevice) -> None:
    """Undo ``setup_device``: former settings back, made links deleted.

    When: unprepare, a failed prepare, or an interrupted one found at start.
    How often: until it succeeds; absent is success.
    May already be true: setup never ran (``record.prepared`` is None), or was freed before.
    Never: delete a link that does not carry this allocation's tag.
    Raises: anything keeps the record; it is tried again.
    """


@hookspec
def recover_devices(request: req.RecoverDevices) -> Sequence[Recovered]:  # type: ignore[empty-body]
    """Say for each record, in order, whether its device is intact, make it again where it is not, or call it lost.

    When: at start, after a start that came late and after the object was made anew, with all prepared records
    (``request.complete``; also with none: time to prune what no record names); on demand when an attach missed its
    link. While a lost ledger is being rebuilt the records are not complete.
    How often: any number of times.
    May already be true: a reboot took every link; a device is inside a pod, or could not be brought back from one yet
    (the record has a snapshot or what attach answered), and is not visible: to make it again would make it twice.
    Never: change the logical allocation (same device, same share, same parameters).
    Raises: anything is logged, and the claims are kept as they are.
    """


@hookspec
def watch_health(request: req.WatchHealth) -> None:
    """Report the health of devices, again within each report's time-out. Optional.

    When: from start on, in a thread of its own.
    How often: once; again with back-off when it returns early or raises.
    May already be true: nothing.
    Never: report from memory while the probe hangs; outlive ``request.stopped`` by more than a second.
    Raises: anything makes the devices of this manager unknown.
    """


@hookspec
def device_metadata(request: req.DescribeDevice) -> Metadata:  # type: ignore[empty-body]
    """Say what the workload is told beside the published attributes. Pure. Optional.

    When: at prepare, and again after attach, when ``record.attached`` is set.
    How often: any number of times, same answer for the same record.
    May already be true: nothing.
    Never: touch the node.
    Raises: anything fails the claim.
    """


@hookspec
def container_edits(request: req.DescribeDevice) -> ContainerEdits:  # type: ignore[empty-body]
    """Say which device nodes, variables and mounts the container gets. Pure. Optional.

    When: at prepare, when the CDI spec is written, and when it is written again.
    How often: any number of times, same answer for the same record.
    May already be true: nothing.
    Never: touch the node.
    Raises: anything fails the claim.
    """


@hookspec
def write_metadata(request: req.WriteMetadata) -> WrittenMetadata:  # type: ignore[empty-body]
    """Write files for the claim and name the CDI devices that expose them.

    When: at the end of prepare, after each attach, and at start for what is prepared.
    How often: any number of times; writing the same again changes nothing.
    May already be true: files of an earlier preparation exist; the CDI folder was emptied.
    Never: leave a half-written file under its final name.
    Raises: anything fails the claim (a claim without its files would be a silent loss).
    """


@hookspec
def remove_metadata(request: req.RemoveMetadata) -> None:
    """Remove what ``write_metadata`` wrote for the claim.

    When: at unprepare, after the devices were freed.
    How often: until it succeeds; absent is success.
    May already be true: the files are gone.
    Never: touch files of another claim.
    Raises: anything keeps the claim; it is tried again.
    """


@hookspec
def run_controller(request: req.RunController) -> None:
    """Run a cluster controller until ``request.stopped``.

    When: ``dragoman controller`` runs.
    How often: once; again with back-off when it returns early or raises.
    May already be true: another process did half of the work, or does it now: nothing is elected, so that every write
    bears a second controller (a resourceVersion, a UID, server-side apply).
    Never: outlive ``request.stopped`` by more than a second.
    Raises: anything is logged and the controller is started again.
    """


@hookspec
def register_commands(request: req.RegisterCommands) -> None:
    """Add commands to the ``dragoman`` program.

    When: the program starts.
    How often: once.
    May already be true: a command of that name exists; the second is refused and both plugins are named.
    Never: do work at registration.
    Raises: anything leaves the command out and is shown by ``dragoman plugins``.
    """
