// SPDX-License-Identifier: Apache-2.0

// Package protocol is one HTTP/2 connection (RFC 9113) as a state machine, without I/O: frames go in,
// and frames to write, and what the streams have to be told, come out. It has no socket, goroutine, lock,
// channel or clock: package h2, its driver, has them. (TestPure holds that so.) It knows nothing of what
// the streams carry.
//
// # Two halves
//
// A [Conn] is what the reader of a connection and those who send on it have in common: streams and
// their states, windows, settings, the queue of frames to write, the encoder of header blocks, how far
// the connection is on its way out, and the account of what the peer makes it hold. It has no lock of its
// own; its driver holds one during each call. Only Config and Side need none.
//
// An [Intake] is the reader's alone and needs no lock: the decoder of header blocks, what is gathered of
// a block or a long frame, the flood budget, and charges that are entered into the account later. A
// connection that is parked has none.
//
// # Input
//
// For each frame the driver calls [Intake.CheckSequence], and then
//
//	HEADERS, CONTINUATION   Intake.OnHeaders, Intake.OnContinuation, and for a block that is whole
//	                        Conn.OnBlock, which says what to do with it
//	DATA                    Conn.OnData, which names the stream, and Intake.NoteBody for each piece of the payload.
//	                        The payload itself goes from the driver to the stream's Receiver: see Receiver.Space
//	RST_STREAM, WINDOW_UPDATE, PING, GOAWAY, SETTINGS
//	                        Conn.OnReset, Conn.OnWindowUpdate, Conn.OnPing, Conn.OnGoAway, Conn.OnSettings
//
// Each returns what the driver has to tell, and whom: it does so without its lock. An error is a
// [frame.Error]; that of a stream goes to Conn.ResetByRule, any other ends the connection, by
// Conn.SayGoAway and Conn.Kill.
//
// # Output
//
// Conn.OpenStream, Conn.Queue and their like queue frames. The goroutine that gets the write token (Conn.TakeToken)
// takes parcels (Conn.Take) and writes them, until there is none and the token is given back.
//
// # What else the driver has to do
//
// What follows from a call, and is not for its caller alone, gathers in a [Todo], which the driver asks
// for before it gives up the lock. A caller that waits for something gives a [Waiter], which is woken within a
// call. Time is an argument, or what the driver has set as Intake.Now.
//
// # Files
//
//	conn, state, reading           Conn, Todo, State; what the reader does
//	intake, recv_headers,          frames that arrive
//	recv_data, recv_control, recv_settings
//	send, encode, forget           frames that are sent, and a stream's end
//	life, parting, ending          from start to end; GOAWAY
//	output, parcel, coder          what has to be written
//	streams, stream, stream_state, stream_table, stream_set, scheduler, send_queue, waiter, borrowed
//	account, ledger, shared        what the peer makes us hold
//	flood_budget, limits           what it makes us do
//	header_block, fragments, pile, memos, part_decoder, contain
//	                               field blocks
//	keepalive                      when to ask whether the peer is there
//	config, side, receiver, frames, pieces, field_writer, errors
//	                               words that the driver's users need, too
package protocol
