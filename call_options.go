// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/compressornames"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

const defaultMaxRetryBuffer = 256 << 10 // bytes

// callInfo is what the options of one RPC ask for.
type callInfo struct {
	codec        encoding.CodecV2 // nil: by subtype
	subtype      string
	compressor   string // the name given to UseCompressor
	accept       *string
	waitForReady bool
	maxRecv      int // -1: not said
	maxSend      int // -1: not said
	retryBuffer  int
	identity     channel.Identity
	onFinish     []func(error) // filled in when the RPC is over
}

func (c *callInfo) reset() {
	*c = callInfo{maxRecv: -1, maxSend: -1, retryBuffer: defaultMaxRetryBuffer}
}

// settle finds the codec, and checks what the options asked for together.
func (c *callInfo) settle() error {
	if c.codec != nil {
		if c.subtype == "" {
			c.subtype = strings.ToLower(c.codec.Name())
		}
		return nil
	}
	if c.codec = codecFor(c.subtype); c.codec == nil {
		return status.Errorf(codes.Internal, "no codec registered for content-subtype %s", c.subtype)
	}
	return nil
}

// CallOption says something about one RPC. Options are applied in the order they are
// given, after those of WithDefaultCallOptions.
type CallOption interface {
	// before is called when the RPC begins. An error fails it.
	before(*callInfo) error
	// after is called once when the RPC is over. The attempt is the last one: nil if there
	// was none, without a stream if none was opened.
	after(*callInfo, *channel.Attempt)
}

// EmptyCallOption changes nothing. It is meant to be embedded in the options that
// other packages define for interceptors of theirs.
type EmptyCallOption struct{}

func (EmptyCallOption) before(*callInfo) error            { return nil }
func (EmptyCallOption) after(*callInfo, *channel.Attempt) {}

// StaticMethod says that the name of the method comes from the source of the program,
// not from input, so that telemetry may keep it. Generated code gives it.
func StaticMethod() CallOption { return StaticMethodCallOption{} }

// StaticMethodCallOption is the option that StaticMethod returns.
type StaticMethodCallOption struct{ EmptyCallOption }

// Header has the metadata that the server sent first stored in md, when a unary RPC
// is over. It may be empty.
func Header(md *metadata.MD) CallOption { return HeaderCallOption{HeaderAddr: md} }

// HeaderCallOption is the option that Header returns.
//
// Experimental: this API may change in a later release.
type HeaderCallOption struct{ HeaderAddr *metadata.MD }

func (o HeaderCallOption) before(*callInfo) error { return nil }
func (o HeaderCallOption) after(_ *callInfo, a *channel.Attempt) {
	if a != nil && a.Stream != nil {
		*o.HeaderAddr = a.Stream.Header()
	}
}

// Trailer has the metadata that the server sent last stored in md, when a unary RPC
// is over. It may be empty.
func Trailer(md *metadata.MD) CallOption { return TrailerCallOption{TrailerAddr: md} }

// TrailerCallOption is the option that Trailer returns.
//
// Experimental: this API may change in a later release.
type TrailerCallOption struct{ TrailerAddr *metadata.MD }

func (o TrailerCallOption) before(*callInfo) error { return nil }
func (o TrailerCallOption) after(_ *callInfo, a *channel.Attempt) {
	if a != nil && a.Stream != nil {
		*o.TrailerAddr = a.Stream.Trailer()
	}
}

// Peer has the server that an RPC went to stored in p, when the RPC is over.
func Peer(p *peer.Peer) CallOption { return PeerCallOption{PeerAddr: p} }

// PeerCallOption is the option that Peer returns.
//
// Experimental: this API may change in a later release.
type PeerCallOption struct{ PeerAddr *peer.Peer }

func (o PeerCallOption) before(*callInfo) error { return nil }
func (o PeerCallOption) after(_ *callInfo, a *channel.Attempt) {
	if a != nil && a.Stream != nil {
		*o.PeerAddr = *a.Stream.Client().Peer()
	}
}

// WaitForReady says what is to become of an RPC while there is no connection. If not
// set, it fails as soon as connecting has failed; if set, it waits until its context
// ends (wait-for-ready.md). Not set is the default.
func WaitForReady(waitForReady bool) CallOption {
	return FailFastCallOption{FailFast: !waitForReady}
}

// FailFast is the opposite of WaitForReady.
//
// Deprecated: use WaitForReady.
func FailFast(failFast bool) CallOption { return FailFastCallOption{FailFast: failFast} }

// FailFastCallOption is the option that WaitForReady returns.
//
// Experimental: this API may change in a later release.
type FailFastCallOption struct{ FailFast bool }

func (o FailFastCallOption) before(c *callInfo) error {
	c.waitForReady = !o.FailFast
	return nil
}
func (o FailFastCallOption) after(*callInfo, *channel.Attempt) {}

// OnFinish has f called when the RPC is over, with nil or its status. It is called
// once, whether or not the RPC got as far as a server, but not if an interceptor
// never began it.
//
// Experimental: this API may change in a later release.
func OnFinish(onFinish func(err error)) CallOption { return OnFinishCallOption{OnFinish: onFinish} }

// OnFinishCallOption is the option that OnFinish returns.
//
// Experimental: this API may change in a later release.
type OnFinishCallOption struct{ OnFinish func(error) }

func (o OnFinishCallOption) before(*callInfo) error { return nil }

// after is also called for RPCs that ended before the options were applied. It only notes the
// function, which is called after the other options.
func (o OnFinishCallOption) after(c *callInfo, _ *channel.Attempt) {
	c.onFinish = append(c.onFinish, o.OnFinish)
}

// MaxCallRecvMsgSize bounds the messages that are received, in bytes, before and after
// decompression. The default is 4 MiB. A larger message fails the RPC with
// codes.ResourceExhausted.
func MaxCallRecvMsgSize(bytes int) CallOption {
	return MaxRecvMsgSizeCallOption{MaxRecvMsgSize: bytes}
}

// MaxRecvMsgSizeCallOption is the option that MaxCallRecvMsgSize returns.
//
// Experimental: this API may change in a later release.
type MaxRecvMsgSizeCallOption struct{ MaxRecvMsgSize int }

func (o MaxRecvMsgSizeCallOption) before(c *callInfo) error {
	c.maxRecv = max(o.MaxRecvMsgSize, 0)
	return nil
}
func (o MaxRecvMsgSizeCallOption) after(*callInfo, *channel.Attempt) {}

// MaxCallSendMsgSize bounds the messages that are sent, in bytes as they go out. The
// default is 2 GiB. A larger message fails the RPC with codes.ResourceExhausted.
func MaxCallSendMsgSize(bytes int) CallOption {
	return MaxSendMsgSizeCallOption{MaxSendMsgSize: bytes}
}

// MaxSendMsgSizeCallOption is the option that MaxCallSendMsgSize returns.
//
// Experimental: this API may change in a later release.
type MaxSendMsgSizeCallOption struct{ MaxSendMsgSize int }

func (o MaxSendMsgSizeCallOption) before(c *callInfo) error {
	c.maxSend = max(o.MaxSendMsgSize, 0)
	return nil
}
func (o MaxSendMsgSizeCallOption) after(*callInfo, *channel.Attempt) {}

// PerRPCCredentials sets credentials that the RPC carries beside those of the channel.
func PerRPCCredentials(creds credentials.PerRPCCredentials) CallOption {
	return PerRPCCredsCallOption{Creds: creds}
}

// PerRPCCredsCallOption is the option that PerRPCCredentials returns.
//
// Experimental: this API may change in a later release.
type PerRPCCredsCallOption struct{ Creds credentials.PerRPCCredentials }

func (o PerRPCCredsCallOption) before(c *callInfo) error {
	c.identity.Creds = o.Creds
	return nil
}
func (o PerRPCCredsCallOption) after(*callInfo, *channel.Attempt) {}

// UseCompressor sets the registered compressor (package encoding) for what the RPC
// sends, in place of the channel's; "identity" sends messages as they are. A name
// that is not registered fails the RPC with codes.Internal.
func UseCompressor(name string) CallOption { return CompressorCallOption{CompressorType: name} }

// CompressorCallOption is the option that UseCompressor returns.
//
// Experimental: this API may change in a later release.
type CompressorCallOption struct{ CompressorType string }

func (o CompressorCallOption) before(c *callInfo) error {
	c.compressor = o.CompressorType
	return nil
}
func (o CompressorCallOption) after(*callInfo, *channel.Attempt) {}

// CallContentSubtype sets the content-subtype, in any letter case: "json" makes the
// content-type "application/grpc+json". The codec that is registered for it is used,
// unless ForceCodec or ForceCodecV2 names another.
func CallContentSubtype(contentSubtype string) CallOption {
	return ContentSubtypeCallOption{ContentSubtype: strings.ToLower(contentSubtype)}
}

// ContentSubtypeCallOption is the option that CallContentSubtype returns.
//
// Experimental: this API may change in a later release.
type ContentSubtypeCallOption struct{ ContentSubtype string }

func (o ContentSubtypeCallOption) before(c *callInfo) error {
	c.subtype = o.ContentSubtype
	return nil
}
func (o ContentSubtypeCallOption) after(*callInfo, *channel.Attempt) {}

// ForceCodec sets the codec, whatever is registered. Its name in lower case becomes
// the content-subtype, unless CallContentSubtype sets one.
//
// Experimental: this API may change in a later release.
func ForceCodec(codec encoding.Codec) CallOption { return ForceCodecCallOption{Codec: codec} }

// ForceCodecCallOption is the option that ForceCodec returns.
//
// Experimental: this API may change in a later release.
type ForceCodecCallOption struct{ Codec encoding.Codec }

func (o ForceCodecCallOption) before(c *callInfo) error {
	c.codec = codecFromV1(o.Codec)
	return nil
}
func (o ForceCodecCallOption) after(*callInfo, *channel.Attempt) {}

// ForceCodecV2 sets the codec, whatever is registered. Its name in lower case becomes
// the content-subtype, unless CallContentSubtype sets one.
//
// Experimental: this API may change in a later release.
func ForceCodecV2(codec encoding.CodecV2) CallOption { return ForceCodecV2CallOption{CodecV2: codec} }

// ForceCodecV2CallOption is the option that ForceCodecV2 returns.
//
// Experimental: this API may change in a later release.
type ForceCodecV2CallOption struct{ CodecV2 encoding.CodecV2 }

func (o ForceCodecV2CallOption) before(c *callInfo) error {
	c.codec = o.CodecV2
	return nil
}
func (o ForceCodecV2CallOption) after(*callInfo, *channel.Attempt) {}

// CallCustomCodec is ForceCodec for the oldest form of a codec, whose name does not
// become the content-subtype.
//
// Deprecated: use ForceCodecV2.
func CallCustomCodec(codec Codec) CallOption { return CustomCodecCallOption{Codec: codec} }

// CustomCodecCallOption is the option that CallCustomCodec returns.
//
// Experimental: this API may change in a later release.
type CustomCodecCallOption struct{ Codec Codec }

func (o CustomCodecCallOption) before(c *callInfo) error {
	c.codec = codecFromV0(o.Codec)
	return nil
}
func (o CustomCodecCallOption) after(*callInfo, *channel.Attempt) {}

// MaxRetryRPCBufferSize bounds how many bytes of an RPC's messages are kept for
// retries; an RPC that sent more is not retried. The default is 256 KiB.
//
// Experimental: this API may change in a later release.
func MaxRetryRPCBufferSize(bytes int) CallOption {
	return MaxRetryRPCBufferSizeCallOption{MaxRetryRPCBufferSize: bytes}
}

// MaxRetryRPCBufferSizeCallOption is the option that MaxRetryRPCBufferSize returns.
//
// Experimental: this API may change in a later release.
type MaxRetryRPCBufferSizeCallOption struct{ MaxRetryRPCBufferSize int }

func (o MaxRetryRPCBufferSizeCallOption) before(c *callInfo) error {
	c.retryBuffer = o.MaxRetryRPCBufferSize
	return nil
}
func (o MaxRetryRPCBufferSizeCallOption) after(*callInfo, *channel.Attempt) {}

// CallAuthority sets the :authority of one RPC. The server has to prove that it may
// act for it: what the handshake learned (credentials.AuthInfo) must be a
// credentials.AuthorityValidator, and agree; else the RPC fails with
// codes.Unavailable.
//
// Experimental: this API may change in a later release.
func CallAuthority(authority string) CallOption {
	return AuthorityOverrideCallOption{Authority: authority}
}

// AuthorityOverrideCallOption is the option that CallAuthority returns.
//
// Experimental: this API may change in a later release.
type AuthorityOverrideCallOption struct{ Authority string }

func (o AuthorityOverrideCallOption) before(c *callInfo) error {
	c.identity.Authority = o.Authority
	return nil
}
func (o AuthorityOverrideCallOption) after(*callInfo, *channel.Attempt) {}

// acceptOption is an option of another package that sets grpc-accept-encoding.
type acceptOption interface{ AcceptCompressors() []string }

// applyAccept is before for an acceptOption.
func (c *callInfo) applyAccept(o acceptOption) error {
	names := o.AcceptCompressors()
	for _, name := range names {
		if name != encoding.Identity && encoding.GetCompressor(name) == nil {
			return fmt.Errorf("grpc: no compressor is registered for %q", name)
		}
	}
	value := strings.Join(slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return n == encoding.Identity
	}), ",")
	c.accept = &value
	return nil
}

// acceptEncoding is the value of grpc-accept-encoding.
func (c *callInfo) acceptEncoding() string {
	if c.accept != nil {
		return *c.accept
	}
	return compressornames.AcceptEncoding()
}

// acceptToo is acceptEncoding for a channel that reads what its own compressor makes,
// registered or not.
func (c *callInfo) acceptToo(name string) string {
	switch list := c.acceptEncoding(); {
	case c.accept != nil || slices.Contains(strings.Split(list, ","), name):
		return list
	case list == "":
		return name
	default:
		return list + "," + name
	}
}
