// SPDX-License-Identifier: Apache-2.0

package main

// A transport is what lies between client and server.
type transport struct {
	name       string
	network    string
	tls        bool
	compressor string // of requests whose case has no wish
}

func transports() []transport {
	return []transport{
		{name: "tcp", network: "tcp"},
		{name: "tls", network: "tcp", tls: true},
		{name: "unix", network: "unix"},
		{name: "gzip", network: "tcp", compressor: "gzip"},
	}
}

// A leg is one run of the cases: a pair, over a transport, with pooling on or off. One
// leg is one client process; it has its server in common with others.
type leg struct {
	pair      pair
	transport transport
	// pooling is the value of this module's environment variable for the side, or the
	// two sides, that are ours.
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

// count returns how many results are ok and how many are not; a leg without results is
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
