"""What a stand-in and the real thing have to do alike: each test runs against both."""
