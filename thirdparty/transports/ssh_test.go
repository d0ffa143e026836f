// SPDX-License-Identifier: Apache-2.0

package transports

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"testing"

	"golang.org/x/crypto/ssh"
)

// TestSSH has connections that are channels of one SSH connection.
func TestSSH(t *testing.T) {
	// What ssh.Client.Dial returns has no deadlines.
	t.Run("forwarded", func(t *testing.T) {
		testLink(t, func(t *testing.T) link {
			client, server := openSSH(t)
			q := newQueue(t, server.LocalAddr())
			go server.accept("direct-tcpip", q)
			return link{lis: q, dial: func(ctx context.Context) (net.Conn, error) {
				return client.DialContext(ctx, "tcp", "127.0.0.1:50051")
			}}
		})
	})
	t.Run("unix", func(t *testing.T) {
		testLink(t, func(t *testing.T) link {
			client, server := openSSH(t)
			q := newQueue(t, server.LocalAddr())
			go server.accept("direct-streamlocal@openssh.com", q)
			return link{lis: q, dial: func(context.Context) (net.Conn, error) {
				return client.Dial("unix", "/run/server.sock")
			}}
		})
	})
	// A server that listens at the far side: its connections come from ssh.Client.Listen.
	t.Run("listening", func(t *testing.T) {
		testLink(t, func(t *testing.T) link {
			client, server := openSSH(t)
			lis, err := client.ListenTCP(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: forwardedPort})
			if err != nil {
				t.Fatal(err)
			}
			return link{lis: lis, dial: func(context.Context) (net.Conn, error) { return server.dialBack() }}
		})
	})
}

// forwardedPort is a name only: nothing listens there.
const forwardedPort = 50051

// sshServer is the server's side of one SSH connection.
type sshServer struct {
	*ssh.ServerConn
	channels <-chan ssh.NewChannel
}

func openSSH(t *testing.T) (*ssh.Client, sshServer) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(signer)
	dialed, accepted := pipe(t)

	type result struct {
		server sshServer
		err    error
	}
	served := make(chan result, 1)
	go func() {
		conn, channels, requests, err := ssh.NewServerConn(accepted, config)
		if err == nil {
			go agree(requests)
		}
		served <- result{sshServer{conn, channels}, err}
	}()
	conn, channels, requests, err := ssh.NewClientConn(dialed, "", &ssh.ClientConfig{HostKeyCallback: ssh.FixedHostKey(signer.PublicKey())})
	if err != nil {
		t.Fatal(err)
	}
	client := ssh.NewClient(conn, channels, requests)
	t.Cleanup(func() { client.Close() })
	r := <-served
	if r.err != nil {
		t.Fatal(r.err)
	}
	return client, r.server
}

// agree grants what a client wants of the whole connection: to forward a port.
func agree(requests <-chan *ssh.Request) {
	for r := range requests {
		if r.WantReply {
			_ = r.Reply(true, nil)
		}
	}
}

// accept puts channels of a kind into the queue.
func (s sshServer) accept(kind string, q *queue) {
	for c := range s.channels {
		if c.ChannelType() != kind {
			_ = c.Reject(ssh.UnknownChannelType, kind)
			continue
		}
		channel, requests, err := c.Accept()
		if err != nil {
			return
		}
		go ssh.DiscardRequests(requests)
		q.put(sshConn{Channel: channel, Conn: s.ServerConn})
	}
}

// dialBack opens a channel to a listener of the client, as RFC 4254 section 7.2 has it.
func (s sshServer) dialBack() (net.Conn, error) {
	channel, requests, err := s.OpenChannel("forwarded-tcpip", ssh.Marshal(struct {
		Addr       string
		Port       uint32
		OriginAddr string
		OriginPort uint32
	}{"127.0.0.1", forwardedPort, "127.0.0.1", 1}))
	if err != nil {
		return nil, err
	}
	go ssh.DiscardRequests(requests)
	return sshConn{Channel: channel, Conn: s.ServerConn}, nil
}
