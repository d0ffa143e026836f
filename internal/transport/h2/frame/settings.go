// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"encoding/binary"
	"strconv"
)

// SettingID names a setting, RFC 9113 section 6.5.2. An unknown one is ignored.
type SettingID uint16

// The settings of RFC 9113 section 6.5.2.
const (
	HeaderTableSize      SettingID = 0x1 // bytes; 4096 until set
	EnablePush           SettingID = 0x2 // 0 or 1; 1 until set
	MaxConcurrentStreams SettingID = 0x3 // no limit until set
	InitialWindowSize    SettingID = 0x4 // bytes; 65535 until set
	MaxFrameSize         SettingID = 0x5 // bytes; 16384 until set
	MaxHeaderListSize    SettingID = 0x6 // bytes; no limit until set
)

var settingNames = [...]string{
	HeaderTableSize:      "HEADER_TABLE_SIZE",
	EnablePush:           "ENABLE_PUSH",
	MaxConcurrentStreams: "MAX_CONCURRENT_STREAMS",
	InitialWindowSize:    "INITIAL_WINDOW_SIZE",
	MaxFrameSize:         "MAX_FRAME_SIZE",
	MaxHeaderListSize:    "MAX_HEADER_LIST_SIZE",
}

// String returns the name in the RFC without its prefix, or the number of an unknown setting.
func (id SettingID) String() string {
	if int(id) < len(settingNames) && settingNames[id] != "" {
		return settingNames[id]
	}
	return "setting " + hex(uint32(id))
}

// Setting is one setting and its value.
type Setting struct {
	ID    SettingID
	Value uint32
}

// String returns NAME=value.
func (s Setting) String() string {
	return s.ID.String() + "=" + strconv.FormatUint(uint64(s.Value), 10)
}

// Check applies the rules of section 6.5.2 about values. Its errors are connection errors. One rule
// depends on the side and is left to the caller: a client refuses ENABLE_PUSH of 1 from a server.
func (s Setting) Check() error {
	switch s.ID {
	case EnablePush:
		if s.Value > 1 {
			return ConnError(ProtocolError, "SETTINGS: "+s.String())
		}
	case InitialWindowSize:
		if s.Value > maxWindowSize {
			return ConnError(FlowControlError, "SETTINGS: "+s.String())
		}
	case MaxFrameSize:
		if s.Value < MinMaxFrameSize || s.Value > MaxMaxFrameSize {
			return ConnError(ProtocolError, "SETTINGS: "+s.String())
		}
	}
	return nil
}

const settingLen = 6

// SettingsView is the list in a SETTINGS payload. It is a view of the payload. Settings take effect in
// order, so that the last of several settings with the same identifier counts.
type SettingsView []byte

// Len returns the number of settings.
func (s SettingsView) Len() int { return len(s) / settingLen }

// At returns the setting at index i, which must be less than Len.
func (s SettingsView) At(i int) Setting {
	b := s[i*settingLen:][:settingLen]
	return Setting{
		ID:    SettingID(binary.BigEndian.Uint16(b)),
		Value: binary.BigEndian.Uint32(b[2:]),
	}
}

// ParseSettings reads the payload p of a SETTINGS frame. For an acknowledgement, which has FlagAck, it
// returns an empty list. It does not check values: see [Setting.Check].
func ParseSettings(h Header, p []byte) (SettingsView, error) {
	if err := h.of(p).checkSettings(); err != nil {
		return nil, err
	}
	return SettingsView(p), nil
}

// AppendSettings appends a SETTINGS frame.
func AppendSettings(dst []byte, settings ...Setting) []byte {
	dst = AppendHeader(dst, Header{Length: uint32(len(settings)) * settingLen, Type: Settings})
	for _, s := range settings {
		dst = binary.BigEndian.AppendUint16(dst, uint16(s.ID))
		dst = binary.BigEndian.AppendUint32(dst, s.Value)
	}
	return dst
}

// AppendSettingsAck appends the acknowledgement of the peer's SETTINGS.
func AppendSettingsAck(dst []byte) []byte {
	return AppendHeader(dst, Header{Type: Settings, Flags: FlagAck})
}

func (h Header) checkSettings() error {
	if err := h.needConn(); err != nil {
		return err
	}
	if h.Flags.Has(FlagAck) && h.Length != 0 {
		return ConnError(FrameSizeError, "SETTINGS: acknowledgement with a payload")
	}
	if h.Length%settingLen != 0 {
		return ConnError(FrameSizeError, "SETTINGS: length is not a multiple of 6")
	}
	return nil
}
