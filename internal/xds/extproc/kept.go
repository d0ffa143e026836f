// SPDX-License-Identifier: Apache-2.0

package extproc

// kept are messages that the server was shown, for where it fails and the RPC may go on. They are
// given up when there are too many: the server has returned some by then, or never will.
type kept struct {
	n     int // were shown
	list  []item
	bytes int
	lost  bool // list has not all of them
}

// add adds one. The only one of an RPC is kept, whatever its size.
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

// left returns those that are to go on after so many were returned. It is false if they are not
// known: a server need not return what it was shown.
func (k *kept) left(returned int) ([]item, bool) {
	switch {
	case returned == 0 && !k.lost:
		return k.list, true
	default:
		return nil, returned >= k.n
	}
}
