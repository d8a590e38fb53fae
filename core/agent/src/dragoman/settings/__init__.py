"""Settings: layered files, the node's NodeConfig object and the environment, checked once into one frozen object.

loaded = load(Path("/etc/dragoman/settings.yaml"), environ=os.environ)
loaded.settings.driver_name
"""

from dragoman.settings.environment import SectionSchemas
from dragoman.settings.errors import LayeredFault, SettingsError
from dragoman.settings.files import DEFAULT_FILE
from dragoman.settings.loading import Loaded, check_file, load
from dragoman.settings.model import Limits, Paths, Settings

__all__ = [
    "DEFAULT_FILE",
    "LayeredFault",
    "Limits",
    "Loaded",
    "Paths",
    "SectionSchemas",
    "Settings",
    "SettingsError",
    "check_file",
    "load",
]
