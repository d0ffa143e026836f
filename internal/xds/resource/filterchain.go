// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/grpc/internal/xds/httpfilter"
)

// ServerListener says what a server does with its connections (A36).
type ServerListener struct {
	// Address is the address, with the port, on which the server must listen.
	Address string
	// Chains are the filter chains among which Match chooses.
	Chains []*FilterChain
	// Default is for connections that match none of Chains. It may be nil.
	Default *FilterChain

	index chainIndex
}

// maxRules limits the number of rules of a listener.
const maxRules = 1 << 16

func readServerListener(c *Context, in *listenerv3.Listener) (out *ServerListener, err error) {
	out = &ServerListener{}
	if len(in.GetListenerFilters()) > 0 {
		return nil, wrong("listener_filters", "not supported")
	}
	if in.GetUseOriginalDst().GetValue() {
		return nil, wrong("use_original_dst", "not supported")
	}
	if out.Address, err = socketAddress(in.GetAddress()); err != nil {
		return nil, at("address", err)
	}
	p := chainParser{c: c, out: out, seen: make(map[chainKey]bool)}
	for i, f := range in.GetFilterChains() {
		if err := p.add(f); err != nil {
			return nil, atIndex("filter_chains", i, err)
		}
	}
	if in.GetDefaultFilterChain() != nil {
		if out.Default, err = p.chain(in.GetDefaultFilterChain()); err != nil {
			return nil, at("default_filter_chain", err)
		}
	}
	if len(out.Chains) == 0 && out.Default == nil {
		return nil, wrong("filter_chains", "empty, and there is no default_filter_chain")
	}
	return out, nil
}

// chainParser remembers the combinations so far, because none may occur twice.
type chainParser struct {
	c     *Context
	out   *ServerListener
	seen  map[chainKey]bool
	rules int
}

func (p *chainParser) add(in *listenerv3.FilterChain) error {
	chain, err := p.chain(in)
	if err != nil {
		return err
	}
	p.out.Chains = append(p.out.Chains, chain)
	return at("filter_chain_match", p.match(chain, in.GetFilterChainMatch()))
}

func (p *chainParser) chain(in *listenerv3.FilterChain) (out *FilterChain, err error) {
	out = &FilterChain{Name: in.GetName()}
	if out.TLS, err = readServerTLS(p.c, in.GetTransportSocket()); err != nil {
		return nil, at("transport_socket", err)
	}
	names := make(map[string]bool)
	for i, f := range in.GetFilters() {
		if f.GetName() == "" || names[f.GetName()] {
			return nil, atIndex("filters", i, fmt.Errorf("name %q is empty or there twice", f.GetName()))
		}
		names[f.GetName()] = true
		if out.HTTP != nil {
			return nil, atIndex("filters", i, errors.New("comes after the HttpConnectionManager"))
		}
		if out.HTTP, err = readHTTP(p.c, f.GetTypedConfig(), httpfilter.Server); err != nil {
			return nil, atIndex("filters", i, at("typed_config", err))
		}
	}
	if out.HTTP == nil {
		return nil, wrong("filters", "there is no HttpConnectionManager")
	}
	return out, nil
}

// match adds the rules of a chain. Rules that can never match are only checked for duplicates.
func (p *chainParser) match(chain *FilterChain, in *listenerv3.FilterChainMatch) error {
	m, err := readChainMatch(in)
	if err != nil {
		return err
	}
	size := 1
	for _, n := range []int{len(m.destinations), len(m.sources), len(m.ports), len(m.names), len(m.protocols)} {
		if n > (maxRules-p.rules)/size { // the product of all might not fit into an int
			return fmt.Errorf("the listener has more than %d combinations of matches", maxRules)
		}
		size *= n
	}
	p.rules += size
	for _, dst := range m.destinations {
		for _, src := range m.sources {
			for _, port := range m.ports {
				rule := chainRule{chain, dst, src, m.sourceType, port, m.transport == "raw_buffer"}
				if err := p.combine(rule, m); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// chainKey has all that a connection may match. The texts share the memory of the resource.
type chainKey struct {
	destination, source             netip.Prefix
	sourceType                      sourceType
	sourcePort                      uint16
	port, transport, name, protocol string
}

// combine checks that the rule does not occur twice with any of the names and protocols. It
// adds the rule to the index if a connection can match it.
func (p *chainParser) combine(rule chainRule, m *chainMatch) error {
	for _, name := range m.names {
		for _, protocol := range m.protocols {
			key := chainKey{rule.destination, rule.source, rule.sourceType, rule.sourcePort, m.port, m.transport, name, protocol}
			if p.seen[key] {
				return errors.New("another chain, or this one, matches the same connections")
			}
			p.seen[key] = true
		}
	}
	if m.possible() {
		p.out.index.add(&rule)
	}
	return nil
}

// chainMatch is a normalized FilterChainMatch. Each list has at least one element; for a field
// that is not set, that is the zero value, which means "any".
type chainMatch struct {
	port                  string
	destinations, sources []netip.Prefix
	ports                 []uint16
	names, protocols      []string
	transport             string
	sourceType            sourceType
}

// possible reports whether any connection can match. None can match a destination port, a
// server name or an application protocol, because gRPC does not support these (A36).
func (m *chainMatch) possible() bool {
	return m.port == "" && m.names[0] == "" && m.protocols[0] == "" && (m.transport == "" || m.transport == "raw_buffer")
}

func readChainMatch(in *listenerv3.FilterChainMatch) (m *chainMatch, err error) {
	m = &chainMatch{
		ports: []uint16{0}, names: orAny(in.GetServerNames()), protocols: orAny(in.GetApplicationProtocols()),
		transport: in.GetTransportProtocol(),
	}
	for i := range m.names {
		m.names[i] = strings.ToLower(m.names[i])
	}
	if p := in.GetDestinationPort(); p != nil {
		m.port = fmt.Sprint(p.GetValue())
	}
	switch t := in.GetSourceType(); t {
	case listenerv3.FilterChainMatch_ANY:
	case listenerv3.FilterChainMatch_SAME_IP_OR_LOOPBACK:
		m.sourceType = localSource
	case listenerv3.FilterChainMatch_EXTERNAL:
		m.sourceType = externalSource
	default:
		return nil, wrong("source_type", "%v is not supported", t)
	}
	if m.destinations, err = readPrefixes("prefix_ranges", in.GetPrefixRanges()); err != nil {
		return nil, err
	}
	if m.sources, err = readPrefixes("source_prefix_ranges", in.GetSourcePrefixRanges()); err != nil {
		return nil, err
	}
	if list := in.GetSourcePorts(); len(list) > 0 {
		m.ports = m.ports[:0]
		for i, p := range list {
			if p == 0 || p > 65535 {
				return nil, atIndex("source_ports", i, fmt.Errorf("%d is no port", p))
			}
			m.ports = append(m.ports, uint16(p))
		}
	}
	return m, nil
}

func orAny(list []string) []string {
	if len(list) == 0 {
		return []string{""}
	}
	return append([]string(nil), list...)
}

func readPrefixes(field string, list []*corev3.CidrRange) ([]netip.Prefix, error) {
	if len(list) == 0 {
		return []netip.Prefix{{}}, nil
	}
	out := make([]netip.Prefix, len(list))
	for i, in := range list {
		addr, err := netip.ParseAddr(in.GetAddressPrefix())
		if err != nil {
			return nil, atIndex(field, i, at("address_prefix", err))
		}
		bits := min(in.GetPrefixLen().GetValue(), uint32(addr.BitLen()))
		if addr.Is4In6() && bits >= 96 { // the addresses of connections are IPv4 where possible
			addr, bits = addr.Unmap(), bits-96
		}
		if out[i], err = addr.WithZone("").Prefix(int(bits)); err != nil {
			return nil, atIndex(field, i, err)
		}
	}
	return out, nil
}
