// SPDX-License-Identifier: Apache-2.0

package main

import (
	"golang.org/x/net/dns/dnsmessage"

	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// nameKindProbes are about what a DNS server may have and say besides one address.
func nameKindProbes() []probe.Probe {
	var out []probe.Probe
	add := func(name string, set func(*names)) { out = append(out, nameProbe(name, set)) }
	loopback := [16]byte{15: 1}
	mapped := [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}
	failing := func(code dnsmessage.RCode, only dnsmessage.Type) func(*names) {
		return func(n *names) { n.code, n.only = code, only }
	}
	text := func(list ...string) func(*names) {
		return func(n *names) {
			for _, t := range list {
				n.more = append(n.more, []string{t})
			}
		}
	}
	add("IPv6 too, nobody is there", func(n *names) { n.aaaa = [][16]byte{loopback} })
	add("IPv6 alone, nobody is there", func(n *names) { n.a, n.aaaa = nil, [][16]byte{loopback} })
	add("IPv4 in IPv6", func(n *names) { n.a, n.aaaa = nil, [][16]byte{mapped} })
	add("many", func(n *names) {
		for i := range 20 {
			n.a = append(n.a, [4]byte{127, 0, 0, byte(100 + i)})
		}
	})
	add("server failure", failing(dnsmessage.RCodeServerFailure, 0))
	add("format error", failing(dnsmessage.RCodeFormatError, 0))
	add("not implemented", failing(dnsmessage.RCodeNotImplemented, 0))
	add("IPv6 is refused", failing(dnsmessage.RCodeRefused, dnsmessage.TypeAAAA))
	add("IPv4 is refused", failing(dnsmessage.RCodeRefused, dnsmessage.TypeA))
	add("IPv4 is unknown", failing(dnsmessage.RCodeNameError, dnsmessage.TypeA))
	add("texts are refused", failing(dnsmessage.RCodeRefused, dnsmessage.TypeTXT))
	add("texts fail", failing(dnsmessage.RCodeServerFailure, dnsmessage.TypeTXT))
	add("texts are unknown", failing(dnsmessage.RCodeNameError, dnsmessage.TypeTXT))
	add("addresses are cut off", func(n *names) { n.short = dnsmessage.TypeA })
	add("texts are cut off", func(n *names) {
		n.short = dnsmessage.TypeTXT
		text(`grpc_config=[{"serviceConfig":{"methodConfig":[{"name":[{}],"maxRequestMessageBytes":1}]}}]`)(n)
	})
	add("balancers that nobody asks for", func(n *names) {
		n.srv = []dnsmessage.SRVResource{{Target: dnsmessage.MustNewName("lb.test."), Port: 1}}
	})
	const limit = `"serviceConfig":{"methodConfig":[{"name":[{}],"maxRequestMessageBytes":1}]}`
	for name, t := range map[string]string{
		"empty": `grpc_config=`, "empty list": `grpc_config=[]`, "no list": `grpc_config={}`, "null": `grpc_config=null`, "half": `grpc_config=[{`,
		"no choice": `grpc_config=[{}]`, "a choice of nothing": `grpc_config=[{"serviceConfig":null}]`, "a choice of a string": `grpc_config=[{"serviceConfig":"x"}]`,
		"prefix in upper case": `GRPC_CONFIG=[{` + limit + `}]`, "a space before": ` grpc_config=[{` + limit + `}]`, "a space after": `grpc_config= [{` + limit + `}] `,
		"the language go": `grpc_config=[{"clientLanguage":["go"],` + limit + `}]`, "no language": `grpc_config=[{"clientLanguage":[],` + limit + `}]`,
		"the second": `grpc_config=[{"clientLanguage":["c++"],"serviceConfig":{}},{` + limit + `}]`, "two": `grpc_config=[{"serviceConfig":{}},{` + limit + `}]`,
		"percentage 101": `grpc_config=[{"percentage":101,` + limit + `}]`, "percentage below 0": `grpc_config=[{"percentage":-1,` + limit + `}]`,
		"percentage of a string": `grpc_config=[{"percentage":"100",` + limit + `}]`, "a host": `grpc_config=[{"clientHostname":["nobody.example"],` + limit + `}]`,
		"no host": `grpc_config=[{"clientHostname":[],` + limit + `}]`, "an unknown field": `grpc_config=[{"nope":1,` + limit + `}]`,
		"a bad config": `grpc_config=[{"serviceConfig":{"methodConfig":5}}]`, "an unknown policy": `grpc_config=[{"serviceConfig":{"loadBalancingConfig":[{"nope":{}}]}}]`,
	} {
		add("config/"+name, text(t))
	}
	add("config/among others", text("x=1", `grpc_config=[{`+limit+`}]`, "y=2"))
	add("config/twice", text(`grpc_config=[{`+limit+`}]`, `grpc_config=[{"serviceConfig":{}}]`))
	return append(out, nameTargets()...)
}

// nameTargets are targets of DNS that name a server in other ways.
func nameTargets() []probe.Probe {
	var out []probe.Probe
	for name, target := range map[string]string{
		"a name without a dot": "dns://DNS/svc.test:PORT", "no port": "dns://DNS/svc.test.", "an empty port": "dns://DNS/svc.test.:", "a port's name": "dns://DNS/svc.test.:http",
		"an address": "dns://DNS/127.0.0.1:PORT", "IPv6": "dns://DNS/[::1]:1", "no name": "dns://DNS/:PORT", "nothing": "dns://DNS/", "a path": "dns://DNS/svc.test.:PORT/x",
		"a server's name": "dns://localhost:1/svc.test.:PORT", "a server without a port": "dns://127.0.0.1/svc.test.:PORT", "a server with an empty port": "dns://127.0.0.1:/svc.test.:PORT",
		"two ports": "dns://DNS/svc.test.:1:PORT", "upper case": "dns://DNS/SVC.TEST.:PORT", "an empty label": "dns://DNS/svc..test.:PORT",
	} {
		out = append(out, probe.Probe{Name: "names/target/" + name, Limit: probe.Limit / 2, Alone: true, Run: func(p *probe.P) {
			n := newNames(p)
			port := portOf(server(p))
			replace := func(s string) string { return replaceAll(s, "DNS", n.addr, "PORT", port) }
			cc, err := dialQuick(p, replace(target))
			if err != nil {
				p.Printf("%s", replaceAll(rig.Err(err), n.addr, "DNS", port, "PORT"))
				return
			}
			p.Printf("%v", cc.CanonicalTarget() == replace(target))
			p.Printf("%s", replaceAll(briefly(p, cc), n.addr, "DNS", port, "PORT"))
		}})
	}
	return out
}
