// SPDX-License-Identifier: Apache-2.0

package main

// A transport says how client and server are connected.
type transport struct {
	name       string
	network    string
	tls        bool
	compressor string // for requests whose case does not choose one
}

func transports() []transport {
	return []transport{
		{name: "tcp", network: "tcp"},
		{name: "tls", network: "tcp", tls: true},
		{name: "unix", network: "unix"},
		{name: "gzip", network: "tcp", compressor: "gzip"},
	}
}

// A leg is one run of the cases: a pair, over a transport, with pooling on or off. Each leg
// has a client process of its own, but may share its server with other legs.
type leg struct {
	pair      pair
	transport transport
	// pooling is the value of this module's environment variable. It is set for those of
	// the two sides that are this module.
	pooling bool

	results []result
	err     error // why there are no results
}

// A result is the outcome of one case.
type result struct {
	name   string
	ok     bool
	detail string // the time it took, or what was wrong
}

func plan(pairs []pair, over []transport) []*leg {
	var legs []*leg
	for _, p := range pairs {
		for _, t := range over {
			legs = append(legs, &leg{pair: p, transport: t, pooling: true})
			if isOurs(p.client) || isOurs(p.server) {
				legs = append(legs, &leg{pair: p, transport: t})
			}
		}
	}
	return legs
}

func (l *leg) String() string {
	s := l.pair.String() + " " + l.transport.name
	if !l.pooling {
		s += " (pooling off)"
	}
	return s
}

// count returns how many results are ok and how many are not. An error of the leg counts as
// one failure.
func (l *leg) count() (passed, failed int) {
	if l.err != nil {
		failed++
	}
	for _, r := range l.results {
		if r.ok {
			passed++
		} else {
			failed++
		}
	}
	return passed, failed
}
