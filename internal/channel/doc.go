// SPDX-License-Identifier: Apache-2.0

// Package channel is what a grpc.ClientConn consists of below its RPCs: from a target to
// connections, and from an RPC to one of them. It knows nothing of messages, codecs, calls
// and their options; those are the floor above, which this one sees as its [Owner].
//
// # How an RPC gets its connection
//
//	Channel.BeginRPC   it counts, and wakes a channel that is idle
//	Channel.Choose     waits for the resolver's first answer; says what the RPC goes by
//	Attempt.Pick       asks the picker, for each attempt, and waits for the next one
//	Attempt.Address    says whom the request is for, and on whose behalf
//	Attempt.Open       opens a stream of internal/transport's on the connection
//	Attempt.Judge      asks package internal/retry whether there is another attempt
//	Attempt.End
//	Channel.EndRPC
//
// # How a connection comes to be
//
//	Target      ->  resolver.go  ->  config.go   ->  balancer.go  ->  subchannel.go  ->  link.go
//	target.go       what the         what RPCs       the policy       connects,          one
//	proxy.go        resolver says    go by           makes SubConns   backs off          connection
//
// and a change of its state goes back: link.go tells subchannel.go, that the policy
// (balancer.go), and the policy the channel: picker.go for RPCs, state.go for programs.
//
// # The files
//
// channel.go is the channel's life: idle or not, closed; idle.go decides which. options.go is
// what it was made with, owner.go who made it. attempt.go is one try of an RPC, and
// attempt_creds.go what that says of itself. service_config.go parses; config.go and
// selector.go hold what RPCs go by. subchannel_health.go watches a server's health,
// subchannel_creds.go is whose credentials count, producer.go what lives on a subchannel
// beside RPCs, metrics.go what is counted of it. status.go says what an error of the control
// plane becomes.
//
// # Locks and goroutines
//
// idle.mu, then Channel.mu, then a Subchannel's mu, then a Link's; pickerGate's and
// stateWatch's are leaves. Of foreign methods only a resolver's Build runs under one of them
// (idle.mu). Whatever the policy is told goes through one queue, balancerWrapper.calls, which
// has a goroutine only while there is something in it. An idle channel has no goroutine, a
// subchannel one while it connects, and none afterwards.
package channel
