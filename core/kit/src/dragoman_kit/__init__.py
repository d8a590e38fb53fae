"""What device managers build on: links, network namespaces, sysctls, files, CDI specs, a manager base."""

from dragoman_kit import packages

packages.spare("pyroute2")  # its messages are all that is used, a seventh of its modules and of its 10 MB
