// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/internal/serializer"
	"google.golang.org/grpc/internal/xds/bootstrap"
)

// Client is an xDS client. Its methods are safe for concurrent use.
type Client struct {
	config    Config
	node      *corev3.Node
	callbacks serializer.Serializer

	mu          sync.Mutex
	closed      bool
	authorities map[authorityKey]*authority
	servers     map[string]*server // by Server.Key
	running     sync.WaitGroup     // servers' goroutines
}

// watch is a Watcher without its type.
type watch struct {
	changed func(any, error)
	ambient func(error)
	gone    atomic.Bool
}

// tell has a watch hear of something, in order.
func (c *Client) tell(w *watch, f func()) {
	c.callbacks.Go(func() {
		if !w.gone.Load() {
			f()
		}
	})
}

// logf is for what operators want to know; format names the thing it is about.
func (c *Client) logf(format string, args ...any) {
	if c.config.Logger != nil {
		c.config.Logger.InfoDepth(1, fmt.Sprintf(format, args...))
	}
}

func (c *Client) warnf(format string, args ...any) {
	if c.config.Logger != nil {
		c.config.Logger.WarningDepth(1, fmt.Sprintf(format, args...))
	}
}

// kind is a Type without its T.
type kind interface {
	url() string
	name() string
	whole() bool
	decode(from *bootstrap.Server, raw []byte) (any, error)
}

// authority is what is watched of one authority, and the control planes it is asked of. All of
// it is guarded by Client.mu.
type authority struct {
	client *Client
	key    authorityKey
	list   []*bootstrap.Server
	// open are the servers in use: the first ones of list. The last of them is the one whose
	// resources count; those before it have failed, and take over as soon as one answers.
	open      []*server
	resources map[string]map[string]*entry // by type URL and name
}

// State is what is known of a resource, with the names of CSDS and A88.
type State uint8

// A resource is in one of these states.
const (
	// Requested: nothing came yet.
	Requested State = iota
	// DoesNotExist: it did not come in time, or is deleted.
	DoesNotExist
	// ACKed: it is there, and valid.
	ACKed
	// NACKed: the last version is not valid. The one before may be in use.
	NACKed
	// ReceivedError: the control plane sent an error in its place.
	ReceivedError
	// TimedOut: it did not come in time, and that is an error.
	TimedOut
)

// entry is one resource that is watched. All of it is guarded by Client.mu.
type entry struct {
	client  *Client
	user    user // the authority that it is of
	kind    kind
	name    string
	watches map[*watch]struct{}

	state   State
	value   any    // nil if there is none in use
	raw     []byte // of value
	version string
	updated time.Time
	from    *server // whose value it is

	// err is why the state is none of Requested and ACKed.
	err        error
	errVersion string
	errTime    time.Time
	// ambient is what watchers of a value in use were told last, transient that no control plane
	// can be reached.
	ambient, transient error
	// ignored says that the value is deleted, and in use (A53).
	ignored bool

	timer     *time.Timer
	timerFrom *server
}

// user is an authority as the servers know it that it uses. Client.mu is held.
type user interface {
	// failedLocked is about a server that can't be reached.
	failedLocked()
	// backLocked is about a server that answers again.
	backLocked()
	// answeredLocked is about a server that had a resource.
	answeredLocked(*server)
}

// server is a control plane in use. Its fields are guarded by Client.mu unless they say other.
type server struct {
	client *Client
	config *bootstrap.Server
	ctx    context.Context // ends with the use of the server
	stop   context.CancelFunc
	dial   func() (Transport, error) // connects once; safe for concurrent use

	users   map[user]struct{} // the authorities that ask it
	loads   *loadReporter     // nil: nobody reports load
	subs    map[string]*subscription
	failure error // why the last stream failed; nil once one has answered
	worked  bool  // a stream has answered since the last failure

	// The stream of the moment.
	stream  Stream // nil while there is none
	sending bool   // a goroutine sends
}

// subscription is what is asked for of one type.
type subscription struct {
	kind    kind
	entries map[string]*entry
	version string  // of the last response that was valid; it outlives streams
	nonce   string  // of the last response on this stream
	nack    error   // what was wrong with it
	refused *string // the last version that was refused, nil if a valid one came since
	dirty   bool    // there is something to send
	asked   bool    // something was sent on this stream
	reading bool    // a response is being read
	owed    bool    // the last response is neither acknowledged nor refused yet
	pace    answerPace
	// late are names that are asked for since a response was begun that is not acknowledged yet. It may
	// have had them, and they were not taken from it; a server that sees them in the acknowledgement
	// takes them for known. So they are left out there, and asked for afterwards.
	late map[string]struct{}
	// fresh are names that are asked for since the response was begun that is read: it does not count for them.
	fresh map[string]struct{}
}

// answerPace slows down a control plane whose next response only our answer to the last one
// waits for.
type answerPace struct {
	since   time.Time // when the second began that answers are counted of
	answers int
	waits   bool // a timer will have the last response answered
}

// loadReporter sends load reports to a server.
type loadReporter struct {
	server *server
	loads  Loads
	users  int // guarded by Client.mu
	cancel context.CancelFunc
}
