// SPDX-License-Identifier: Apache-2.0

package extproc

// kept has the messages that were sent to the server, in case the server fails and the RPC may go
// on. It drops them when there are too many: then the server has returned some of them by then,
// or never will.
type kept struct {
	n     int // the number of messages sent
	list  []item
	bytes int
	lost  bool // list no longer has all messages
}

// add adds a message. The only message of an RPC is kept even if it is too large.
func (k *kept) add(i item, only bool) {
	k.n++
	if k.lost {
		return
	}
	if k.bytes += i.size(); k.bytes > maxQueued && !only {
		k.list, k.lost = nil, true
		return
	}
	k.list = append(k.list, i)
}

// left returns the messages that the server has not returned, given how many it has returned. The
// result is false if these are not known: a server need not return a message for each that it gets.
func (k *kept) left(returned int) ([]item, bool) {
	switch {
	case returned == 0 && !k.lost:
		return k.list, true
	default:
		return nil, returned >= k.n
	}
}
