// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc/internal/readyreader"
)

// Content types and handshake messages, RFC 8446, sections 5.1 and 4.
const (
	typeAlert     = 21
	typeHandshake = 22
	typeData      = 23

	keyUpdate = 24
)

// peer13 speaks TLS 1.3 records by hand, after a tls.Conn has done the handshake,
// and so says what no tls.Conn would.
type peer13 struct {
	t       testing.TB
	sock    *memSocket // nil: conn is another kind of connection
	conn    net.Conn
	in, out keys
}

// newPeer13 returns a peer, which is the client or the server, and our end.
func newPeer13(t testing.TB, release, asClient bool) (*peer13, *Conn) {
	t.Helper()
	a, b := newMemSockets()
	p, ours := newPeer13Over(t, mode{version: tls.VersionTLS13, release: release}, asClient, a, b)
	p.sock = b
	return p, ours
}

// newPeer13Over is newPeer13 with our end over a and the peer over b.
func newPeer13Over(t testing.TB, m mode, asClient bool, a, b net.Conn) (*peer13, *Conn) {
	t.Helper()
	var log bytes.Buffer
	config := m.config()
	config.KeyLogWriter = &log
	config.SessionTicketsDisabled = true // else the server's first record is a ticket
	ourConfig := m.config()
	ourConfig.SessionTicketsDisabled = true
	ours := newConn(t, a, ourConfig, asClient, m.release)
	t.Cleanup(func() { ours.Close() })
	var theirs *tls.Conn
	if asClient {
		theirs = tls.Client(b, config)
		shake(t, theirs, ours)
	} else {
		theirs = tls.Server(b, config)
		shake(t, ours, theirs)
	}
	if suite := theirs.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skipf("the cipher suite is %s", tls.CipherSuiteName(suite))
	}
	p := &peer13{t: t, conn: b}
	client, server := secretIn(t, log.String(), "CLIENT_TRAFFIC_SECRET_0"), secretIn(t, log.String(), "SERVER_TRAFFIC_SECRET_0")
	if asClient {
		p.out.set(client)
		p.in.set(server)
	} else {
		p.out.set(server)
		p.in.set(client)
	}
	return p, ours
}

func secretIn(t testing.TB, log, label string) []byte {
	for line := range strings.Lines(log) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == label {
			secret, err := hex.DecodeString(f[2])
			if err != nil {
				t.Fatal(err)
			}
			return secret
		}
	}
	t.Fatalf("no %s", label)
	return nil
}

// keys are those of one direction.
type keys struct {
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	seq    uint64
}

func (k *keys) set(secret []byte) {
	block, err := aes.NewCipher(expand(secret, "key", 16))
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	*k = keys{secret: secret, aead: aead, iv: expand(secret, "iv", 12)}
}

// next is the update of RFC 8446, section 7.2.
func (k *keys) next() { k.set(expand(k.secret, "traffic upd", sha256.Size)) }

func (k *keys) nonce() []byte {
	n := bytes.Clone(k.iv)
	seq := binary.BigEndian.Uint64(n[4:]) ^ k.seq
	binary.BigEndian.PutUint64(n[4:], seq)
	k.seq++
	return n
}

func expand(secret []byte, label string, n int) []byte {
	info := []byte{0, byte(n), byte(len("tls13 ") + len(label))}
	info = append(append(info, "tls13 "+label...), 0)
	out, err := hkdf.Expand(sha256.New, secret, string(info), n)
	if err != nil {
		panic(err)
	}
	return out
}

// seal returns a record.
func (p *peer13) seal(typ byte, data []byte) []byte {
	n := len(data) + 1 + 16
	header := []byte{typeData, 3, 3, byte(n >> 8), byte(n)}
	return p.out.aead.Seal(header, p.out.nonce(), append(bytes.Clone(data), typ), header)
}

func (p *peer13) write(records ...[]byte) {
	p.t.Helper()
	if _, err := p.conn.Write(bytes.Join(records, nil)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer13) send(typ byte, data []byte) {
	p.t.Helper()
	p.write(p.seal(typ, data))
}

// update returns the record of a KeyUpdate, and changes the keys.
func (p *peer13) update(request bool) []byte {
	record := p.seal(typeHandshake, updateMessage(request))
	p.out.next()
	return record
}

func updateMessage(request bool) []byte {
	if request {
		return []byte{keyUpdate, 0, 0, 1, 1}
	}
	return []byte{keyUpdate, 0, 0, 1, 0}
}

// read returns the next record's content. In memory it does not wait.
func (p *peer13) read() (byte, []byte, error) {
	header, body, err := p.next()
	if err != nil {
		return 0, nil, err
	}
	data, err := p.in.aead.Open(nil, p.in.nonce(), body, header)
	if err != nil {
		return 0, nil, err
	}
	data = bytes.TrimRight(data, "\x00")
	typ, data := data[len(data)-1], data[:len(data)-1]
	if typ == typeHandshake && len(data) == 5 && data[0] == keyUpdate {
		p.in.next()
	}
	return typ, data, nil
}

// recordHeaderLen is how long a record's header is, RFC 8446 section 5.1.
const recordHeaderLen = 5

// next returns the next record.
func (p *peer13) next() (header, body []byte, err error) {
	if p.sock == nil {
		header = make([]byte, recordHeaderLen)
		if _, err := io.ReadFull(p.conn, header); err != nil {
			return nil, nil, err
		}
		body = make([]byte, binary.BigEndian.Uint16(header[3:]))
		_, err = io.ReadFull(p.conn, body)
		return header, body, err
	}
	in := p.sock.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.b) < recordHeaderLen {
		return nil, nil, readyreader.ErrWouldBlock
	}
	n := int(binary.BigEndian.Uint16(in.b[3:]))
	if len(in.b) < recordHeaderLen+n {
		return nil, nil, readyreader.ErrWouldBlock
	}
	header, body = in.b[:recordHeaderLen], in.b[recordHeaderLen:recordHeaderLen+n]
	in.b = in.b[recordHeaderLen+n:]
	in.changed.Broadcast()
	return header, body, nil
}

func (p *peer13) want(typ byte, data []byte) {
	p.t.Helper()
	gotType, got, err := p.read()
	if err != nil || gotType != typ || !bytes.Equal(got, data) {
		p.t.Fatalf("type %d, %x, %v; want type %d, %x", gotType, got, err, typ, data)
	}
}

// forEachPeer13 runs f with both ways to hold buffers, in both roles.
func forEachPeer13(t *testing.T, f func(t *testing.T, p *peer13, c *Conn)) {
	t.Helper()
	for _, release := range []bool{true, false} {
		for _, asClient := range []bool{true, false} {
			if release && !releasable() {
				continue
			}
			t.Run(fmt.Sprintf("release=%t,client=%t", release, asClient), func(t *testing.T) {
				p, c := newPeer13(t, release, asClient)
				f(t, p, c)
			})
		}
	}
}
