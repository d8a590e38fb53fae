"""What device managers build on: links, network namespaces, sysctls, files, CDI specs, a manager base."""
