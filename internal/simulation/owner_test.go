// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"io"

	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/status"
)

// owner serves a call that was handed over: it has no goroutine while there is nothing to do.
type owner struct {
	k    *call
	s    *transport.ServerStream
	turn handover.Turn
}

// HandlerReturned implements handover.Owner.
func (o *owner) HandlerReturned() { o.k.w.start(task(o.act)) }

// Wake implements handover.Owner.
func (o *owner) Wake() {
	if o.turn.Wake() {
		o.k.w.start(task(o.act))
	}
}

type task func()

func (f task) Run() { f() }

// act does what there is to do. It has the turn.
func (o *owner) act() {
	w := o.k.w
	w.reach(ownerActs)
	for {
		w.yield(atProgram, o.k.link.far)
		more := o.step()
		w.yield(atProgram, o.k.link.far)
		if o.k.handlerDone {
			o.turn.End()
			return
		}
		if !more && o.turn.Rest() {
			return
		}
	}
}

// step reports whether there may be more to do.
func (o *owner) step() bool {
	k := o.k
	input := k.wantsInput()
	k.taking = input
	switch e := o.s.Arm(o, input); {
	case e.Has(handover.Over):
		k.handlerErr = o.s.Fate()
		k.finishErr = o.s.Finish(status.New(k.code, "as was asked for")) // what is left is given back
		o.end()
		return false
	case e.Has(handover.Input):
		o.receive()
		return true
	}
	if k.handlerSent < len(k.down) {
		return o.send()
	}
	if input || k.hangs || k.readsAll && !k.handlerSaw {
		return false
	}
	k.finishErr = o.s.Finish(status.New(k.code, "as was asked for"))
	o.end()
	return false
}

// wantsInput reports whether the owner of a call is to be woken by messages.
func (k *call) wantsInput() bool {
	return !k.handlerSaw && (k.readsAll || k.handlerGot < k.readsFirst || k.hangs)
}

func (o *owner) receive() {
	k := o.k
	m, err := o.s.Recv()
	k.w.yield(atProgram, k.link.far)
	switch {
	case err == io.EOF:
		k.handlerSaw = true
		k.checkAllArrived()
	case err != nil:
		k.handlerSaw, k.handlerErr = true, err
		k.checkHandlerErr(err)
	default:
		k.w.note(k.link.far, "call %d: message %d arrives", k.n, k.handlerGot)
		k.w.check(m, k.n, 0, k.handlerGot, k.up)
		k.handlerGot++
	}
}

func (o *owner) send() bool {
	k := o.k
	p := k.w.payload(k.n, 1, k.handlerSent, k.down[k.handlerSent])
	taken, err := o.s.Offer(&p, o, 0)
	k.w.yield(atProgram, k.link.far)
	switch {
	case err != nil: // Arm says next that it is over
		k.w.note(k.link.far, "call %d cannot reply: %v", k.n, err)
		return false
	case !taken:
		k.w.reach(ownerWaits)
		p.Data.Free()
		return false
	}
	k.w.note(k.link.far, "call %d has replied with message %d", k.n, k.handlerSent)
	k.handlerSent++
	return true
}

func (o *owner) end() {
	k := o.k
	k.w.yield(atProgram, k.link.far)
	o.s.Done()
	k.finished, k.handlerDone = true, true
}
