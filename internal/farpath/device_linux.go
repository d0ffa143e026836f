// SPDX-License-Identifier: Apache-2.0

package farpath

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Names of devices, in a namespace.
const (
	deviceName = "far0"
	loopback   = "lo"
)

// mtu is what TCP's segments have to fit into.
const mtu = 1500

// queueLength is how many packets wait in the device until the forwarder reads them: more
// than TCP ever has on its way, so that only the forwarder drops any.
const queueLength = 20_000

// openDevice makes a TUN device in the namespace of the calling thread.
func openDevice() (fd int, err error) {
	fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("/dev/net/tun: %w", err)
	}
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
		}
	}()
	ifr, err := unix.NewIfreq(deviceName)
	if err != nil {
		return -1, err
	}
	ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr); err != nil {
		return -1, fmt.Errorf("a TUN device: %w", err)
	}
	if err := unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, unix.TUN_F_CSUM|unix.TUN_F_TSO4|unix.TUN_F_TSO_ECN); err != nil {
		return -1, fmt.Errorf("large packets of a TUN device: %w", err)
	}
	return fd, nil
}

// set does one of the system's orders to a device of the namespace of the calling thread.
func set(device string, order uint, fill func(*unix.Ifreq) error) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	ifr, err := unix.NewIfreq(device)
	if err != nil {
		return err
	}
	if err := fill(ifr); err != nil {
		return err
	}
	if err := unix.IoctlIfreq(s, order, ifr); err != nil {
		return fmt.Errorf("setting up %s: %w", device, err)
	}
	return nil
}

func number(n uint32) func(*unix.Ifreq) error {
	return func(ifr *unix.Ifreq) error { ifr.SetUint32(n); return nil }
}

func address(a netip.Addr) func(*unix.Ifreq) error {
	return func(ifr *unix.Ifreq) error { return ifr.SetInet4Addr(a.AsSlice()) }
}

// setUp gives the device of the namespace of the calling thread its address, and a way to
// all others of the path.
func setUp(addr netip.Addr, congestion string) error {
	up := func(ifr *unix.Ifreq) error { ifr.SetUint16(unix.IFF_UP); return nil }
	if err := set(loopback, unix.SIOCSIFFLAGS, up); err != nil {
		return err
	}
	for _, step := range []struct {
		order uint
		fill  func(*unix.Ifreq) error
	}{
		{unix.SIOCSIFMTU, number(mtu)},
		{unix.SIOCSIFFLAGS, up},
	} {
		if err := set(deviceName, step.order, step.fill); err != nil {
			return err
		}
	}
	if err := lengthenQueue(); err != nil {
		return err
	}
	return assign(addr, congestion)
}

// lengthenQueue asks by netlink, as the order of ioctl is not for root of a user namespace.
func lengthenQueue() error {
	index, err := deviceIndex()
	if err != nil {
		return err
	}
	body := []byte{unix.AF_UNSPEC, 0, 0, 0}
	body = binary.NativeEndian.AppendUint32(body, index)
	body = append(body, make([]byte, 8)...) // no flag changes
	body = attribute(body, unix.IFLA_TXQLEN, binary.NativeEndian.AppendUint32(nil, queueLength))
	if err := netlink(unix.RTM_NEWLINK, 0, body); err != nil {
		return fmt.Errorf("the queue of %s: %w", deviceName, err)
	}
	return nil
}

// assign replaces the address of the device of the namespace of the calling thread. Its mask is
// that of one host, so that the system adds no route of its own.
func assign(addr netip.Addr, congestion string) error {
	if err := set(deviceName, unix.SIOCSIFADDR, address(addr)); err != nil {
		return err
	}
	mask := netip.AddrFrom4([4]byte{255, 255, 255, 255})
	if err := set(deviceName, unix.SIOCSIFNETMASK, address(mask)); err != nil {
		return err
	}
	return addRoute(congestion)
}

// addRoute leads to all addresses of the path, with the congestion control of that name, unless it
// is empty: a route may name one that only the first namespace may make the default.
func addRoute(congestion string) error {
	index, err := deviceIndex()
	if err != nil {
		return err
	}
	body := []byte{
		unix.AF_INET, byte(subnet.Bits()), 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_STATIC, unix.RT_SCOPE_LINK, unix.RTN_UNICAST,
		0, 0, 0, 0,
	}
	body = attribute(body, unix.RTA_DST, subnet.Addr().AsSlice())
	body = attribute(body, unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, index))
	if congestion != "" {
		body = attribute(body, unix.RTA_METRICS, attribute(nil, unix.RTAX_CC_ALGO, append([]byte(congestion), 0)))
	}
	if err := netlink(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, body); err != nil {
		return fmt.Errorf("a route with congestion control %q: %w", congestion, err)
	}
	return nil
}

func deviceIndex() (index uint32, err error) {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(s)
	ifr, err := unix.NewIfreq(deviceName)
	if err != nil {
		return 0, err
	}
	err = unix.IoctlIfreq(s, unix.SIOCGIFINDEX, ifr)
	return ifr.Uint32(), err
}
