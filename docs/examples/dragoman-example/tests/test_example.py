from dragoman_example import PortSettings, plugin
from dragoman_kit.netlink import Netlink
from dragoman_testkit.bench import Bench, allocate
from dragoman_testkit.contract import ManagerContract


class TestPorts(ManagerContract):
    descriptor = plugin

    def settings(self) -> PortSettings:
        return PortSettings(bridge="br0", ports=2)

    def prepare_host(self, netlink: Netlink) -> None:
        netlink.add_link("br0", "bridge", address="02:00:00:00:00:01")

    def test_the_other_end_is_in_the_bridge(self, bench: Bench) -> None:
        bench.prepare(allocate(bench.scan().devices[0], self.parameters()))
        with Netlink() as netlink:
            bridge, port = netlink.link("br0"), netlink.link("br0-port0")
            masters = {link.index: link.master for link in netlink.links()}
        assert bridge
        assert port
        assert port.lower
        assert masters[port.lower] == bridge.index
