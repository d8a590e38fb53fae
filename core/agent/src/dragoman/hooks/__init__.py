"""The typed facade over the hooks: one method a hook, with thread, time limit, isolation and logging.

Nobody else calls a plugin. ``facade`` is the way in; ``lifecycle`` starts, stops and re-makes plugins; ``calls`` makes
one call over ``workers``; ``watches`` runs the hooks that never return; ``results`` checks what plugins answer.
"""

from dragoman.hooks.calls import Limits, PluginFault, PluginTimeout
from dragoman.hooks.facade import Hooks, ManagerInfo, PluginMissing
from dragoman.hooks.lifecycle import Applied

__all__ = ["Applied", "Hooks", "Limits", "ManagerInfo", "PluginFault", "PluginMissing", "PluginTimeout"]
