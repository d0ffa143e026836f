// SPDX-License-Identifier: Apache-2.0

// Package protocol is one HTTP/2 connection (RFC 9113) as a state machine without I/O. It takes the
// frames that arrive, and returns frames to write and what the streams must be told. It has no socket,
// goroutine, lock, channel or clock: package h2, its driver, has them. (TestPure makes sure of that.)
// It knows nothing of what the streams carry.
//
// # Two halves
//
// A [Conn] is the state that the reader of a connection shares with the goroutines that send on it:
// streams and their states, windows, settings, the queue of frames to write, the encoder of header
// blocks, how far the end of the connection has come, and the account of what the peer makes it hold.
// It has no lock of its own: the driver holds a lock during each call. Only the methods Config and Side
// need none.
//
// An [Intake] belongs to the reader alone and needs no lock. It has the decoder of header blocks, the
// parts so far of a block or of a long frame, the flood budget, and charges that are entered into the
// account later. A parked connection has no Intake.
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
// Each method returns what the driver has to tell, and to which stream. The driver does that without
// holding its lock. An error is a [frame.Error]. The driver passes a stream error to Conn.ResetByRule;
// any other error ends the connection, by Conn.SayGoAway and Conn.Kill.
//
// # Output
//
// Conn.OpenStream, Conn.Queue and similar methods queue frames. The goroutine that gets the write token
// (Conn.TakeToken) takes parcels (Conn.Take) and writes them, until there are none and Take gives the
// token back.
//
// # What else the driver has to do
//
// A call may have consequences that do not concern its caller. They gather in a [Todo], which the
// driver takes before it gives up the lock. A caller that waits for something passes a [Waiter], whose
// Wake is called within a later call. Time is an argument, or the value that the driver has set as
// Intake.Now.
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
//	                               types that users of the driver need, too
package protocol
