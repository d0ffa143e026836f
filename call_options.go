// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/compressornames"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

const defaultMaxRetryBuffer = 256 << 10 // bytes

// callInfo is what the options of one RPC have set.
type callInfo struct {
	codec        encoding.CodecV2 // nil: the one that is registered for subtype
	subtype      string
	compressor   string // the name given to UseCompressor
	accept       string // of an acceptOption; "": all that are registered
	waitForReady bool
	maxRecv      int // -1: no option set it
	maxSend      int // -1: no option set it
	retryBuffer  int
	identity     channel.Identity
	onFinish     []func(error) // filled in when the RPC is over
}

func (c *callInfo) reset() {
	*c = callInfo{maxRecv: -1, maxSend: -1, retryBuffer: defaultMaxRetryBuffer}
}

// settle completes codec and subtype from each other. It fails if no codec is registered for subtype.
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

// CallOption configures one RPC. Options are applied in the order in which they are given, after
// those of WithDefaultCallOptions.
type CallOption interface {
	// before is called when the RPC begins. An error fails it.
	before(*callInfo) error
	// after is called once, when the RPC is over, with its last attempt. The attempt is nil if
	// none was made, and has no stream if none was opened.
	after(*callInfo, *channel.Attempt)
}

// EmptyCallOption changes nothing. Packages can embed it in options that they define for their
// own interceptors.
type EmptyCallOption struct{}

func (EmptyCallOption) before(*callInfo) error            { return nil }
func (EmptyCallOption) after(*callInfo, *channel.Attempt) {}

// StaticMethod returns a CallOption that says that the method's name comes from the source of the
// program, not from input, so that telemetry may record it. Generated code passes it.
func StaticMethod() CallOption { return StaticMethodCallOption{} }

// StaticMethodCallOption is the option that StaticMethod returns.
type StaticMethodCallOption struct{ EmptyCallOption }

// Header returns a CallOption that stores in md the metadata that the server sent first, when a
// unary RPC is over. The metadata may be empty.
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

// Trailer returns a CallOption that stores in md the metadata that the server sent last, when a
// unary RPC is over. The metadata may be empty.
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

// Peer returns a CallOption that stores in p the server that an RPC went to, when the RPC is over.
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

// WaitForReady returns a CallOption that says what happens to an RPC while there is no connection.
// With true, the RPC waits for one until its context ends (wait-for-ready.md). With false, which
// is the default, the RPC fails as soon as connecting has failed.
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

// OnFinish returns a CallOption that calls onFinish once when the RPC is over, with the RPC's
// status, or nil for success. The call comes whether or not the RPC got as far as a server, but
// not if an interceptor never began the RPC.
//
// Experimental: this API may change in a later release.
func OnFinish(onFinish func(err error)) CallOption { return OnFinishCallOption{OnFinish: onFinish} }

// OnFinishCallOption is the option that OnFinish returns.
//
// Experimental: this API may change in a later release.
type OnFinishCallOption struct{ OnFinish func(error) }

func (o OnFinishCallOption) before(*callInfo) error { return nil }

// after is also called for RPCs that ended before the options were applied. It only records the
// function: clientCall.leave calls it after all other options.
func (o OnFinishCallOption) after(c *callInfo, _ *channel.Attempt) {
	c.onFinish = append(c.onFinish, o.OnFinish)
}

// MaxCallRecvMsgSize returns a CallOption that limits the size of received messages, in bytes,
// both before and after decompression. The default is 4 MiB. A larger message fails the RPC with
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

// MaxCallSendMsgSize returns a CallOption that limits the size of sent messages, in bytes after
// compression. The default is 2 GiB. A larger message fails the RPC with codes.ResourceExhausted.
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

// PerRPCCredentials returns a CallOption that sets credentials for the RPC to carry in addition
// to those of the channel.
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

// UseCompressor returns a CallOption that compresses what the RPC sends with the compressor that
// is registered under name (package encoding), in place of the channel's compressor; "identity"
// sends messages uncompressed. A name that is not registered fails the RPC with codes.Internal.
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

// CallContentSubtype returns a CallOption that sets the content-subtype, in any letter case:
// "json" makes the content-type "application/grpc+json". The RPC uses the codec that is
// registered for the content-subtype, unless ForceCodec or ForceCodecV2 names another.
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

// ForceCodec returns a CallOption that sets the codec, whether or not it is registered. The codec's
// name in lower case becomes the content-subtype, unless CallContentSubtype sets one.
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

// ForceCodecV2 returns a CallOption that sets the codec, whether or not it is registered. The
// codec's name in lower case becomes the content-subtype, unless CallContentSubtype sets one.
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

// CallCustomCodec is like ForceCodec, but takes the oldest form of a codec, whose name does not
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

// MaxRetryRPCBufferSize returns a CallOption that limits how many bytes of an RPC's messages are
// kept for retries. An RPC that has sent more is not retried. The default is 256 KiB.
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

// CallAuthority returns a CallOption that sets the :authority of one RPC. The server has to prove
// that it may act for that authority: the credentials.AuthInfo of the handshake must implement
// credentials.AuthorityValidator, and accept the authority. Otherwise the RPC fails with
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

// applyAccept applies an acceptOption. It fails if a compressor is not registered.
func (c *callInfo) applyAccept(o acceptOption) error {
	var names []string
	for _, name := range o.AcceptCompressors() {
		switch name = strings.TrimSpace(name); {
		case name == "" || name == encoding.Identity || slices.Contains(names, name):
		case encoding.GetCompressor(name) == nil:
			return status.Errorf(codes.InvalidArgument, "grpc: compressor %q is not registered", name)
		default:
			names = append(names, name)
		}
	}
	c.accept = strings.Join(names, ",")
	return nil
}

// refuses returns the error of a response whose messages are compressed as no acceptOption allows.
func (c *callInfo) refuses(name string) error {
	if c.accept == "" || name == "" || name == encoding.Identity || transport.AcceptsEncoding(c.accept, name) {
		return nil
	}
	return status.Errorf(codes.Internal, "grpc: peer compressed the response with %q which is not allowed by AcceptCompressors", transport.Quoted(name))
}

// acceptEncoding returns the value of grpc-accept-encoding.
func (c *callInfo) acceptEncoding() string {
	if c.accept != "" {
		return c.accept
	}
	return compressornames.AcceptEncoding()
}

// acceptToo returns acceptEncoding with name added, unless the list has name or an option set the
// list. The channel can read what its own compressor makes, even if that is not registered. "identity" is
// added in any case.
func (c *callInfo) acceptToo(name string) string {
	switch list := c.acceptEncoding(); {
	case c.accept != "" && name != encoding.Identity || slices.Contains(strings.Split(list, ","), name):
		return list
	case list == "":
		return name
	default:
		return list + "," + name
	}
}
