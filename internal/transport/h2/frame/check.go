// SPDX-License-Identifier: Apache-2.0

package frame

// Check applies every rule that needs the header alone: the size limit, whether the type belongs on a
// stream or on the connection, and the lengths that a type fixes. maxFrameSize is the
// SETTINGS_MAX_FRAME_SIZE that we announced.
//
// A connection error ends the connection, so the payload does not matter. After a stream error only the
// frame is ignored: the caller discards Length bytes unread and continues at the next header. If the
// frame is DATA, those bytes still count against the connection's flow-control window (section 6.9).
func (h Header) Check(maxFrameSize uint32) error {
	// The rules of the type come first: a PING of any wrong size is a connection error, even if its
	// header names a stream.
	if err := h.checkType(); err != nil {
		return err
	}
	if h.Length > maxFrameSize {
		return h.sizeError("payload larger than SETTINGS_MAX_FRAME_SIZE")
	}
	return nil
}

func (h Header) checkType() error {
	switch h.Type {
	case Data:
		return h.checkData()
	case Headers:
		return h.checkHeaders()
	case Priority:
		return h.checkPriority()
	case RSTStream:
		return h.checkRSTStream()
	case Settings:
		return h.checkSettings()
	case PushPromise:
		return RefusePushPromise()
	case Ping:
		return h.checkPing()
	case GoAway:
		return h.checkGoAway()
	case WindowUpdate:
		return h.checkWindowUpdate()
	case Continuation:
		return h.checkContinuation()
	}
	return nil
}
