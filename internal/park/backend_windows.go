// SPDX-License-Identifier: Apache-2.0

package park

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

const (
	supported = true
	takes     = false
)

// The driver is asked to report when one of these has happened to a socket.
const (
	ioctlPoll = 0x00012024 // IOCTL_AFD_POLL

	pollReceive     = 0x0001
	pollDisconnect  = 0x0008 // the peer's FIN
	pollAbort       = 0x0010 // its RST
	pollLocalClose  = 0x0020
	pollConnectFail = 0x0100

	pollEnds = pollReceive | pollDisconnect | pollAbort | pollLocalClose | pollConnectFail
)

// sioBaseHandle asks for the driver's own handle of a socket that a layered provider hides.
const sioBaseHandle = 0x48000022

// pollInfo is the driver's AFD_POLL_INFO, for one socket.
type pollInfo struct {
	timeout   int64 // in 100 ns; the largest: for ever
	handles   uint32
	exclusive uint32
	handle    windows.Handle
	events    uint32
	status    int32
}

// pollInfoSize is the size of an AFD_POLL_INFO: the system aligns it to 8 bytes also where Go does not.
const pollInfoSize = 32

// request is a poll as the system knows it, by the address of its first field. The system writes to it
// until the poll has ended. A pending poll is kept reachable, and objects on the heap do not move.
type request struct {
	overlapped windows.Overlapped
	info       pollInfo
	_          [pollInfoSize - unsafe.Sizeof(pollInfo{})]byte
	poll       *poll
	device     *device
}

// device is one opening of the driver, with a list of polls of its own. The system goes through the whole
// list each time that a poll ends, so the list is kept short.
type device struct {
	handle windows.Handle
	polls  int
}

const devicePolls = 32

// queue is the completion port on which the system reports the ends of polls. The Go runtime's own port
// can't be shared, so the goroutine in next keeps a thread.
type queue struct {
	port    windows.Handle
	devices []*device
	room    []*device // those that can take a poll
}

func newBackend() (backend, error) {
	port, err := windows.CreateIoCompletionPort(windows.InvalidHandle, 0, 0, 0)
	if err != nil {
		return nil, os.NewSyscallError("CreateIoCompletionPort", err)
	}
	q := &queue{port: port}
	if _, err := q.device(); err != nil { // where the driver can't be opened, say so at once
		q.free()
		return nil, err
	}
	return newAFD(q), nil
}

// device returns a device that has room for a poll.
func (q *queue) device() (*device, error) {
	if n := len(q.room); n > 0 {
		return q.room[n-1], nil
	}
	d, err := openDevice(q.port)
	if err != nil {
		return nil, err
	}
	q.devices, q.room = append(q.devices, d), append(q.room, d)
	return d, nil
}

func openDevice(port windows.Handle) (*device, error) {
	name, err := windows.NewNTUnicodeString(`\Device\Afd\park`)
	if err != nil {
		return nil, err
	}
	attributes := windows.OBJECT_ATTRIBUTES{ObjectName: name}
	attributes.Length = uint32(unsafe.Sizeof(attributes))
	var h windows.Handle
	var status windows.IO_STATUS_BLOCK
	err = windows.NtCreateFile(&h, windows.SYNCHRONIZE, &attributes, &status, nil, 0,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, windows.FILE_OPEN, 0, 0, 0)
	if err != nil {
		return nil, os.NewSyscallError("NtCreateFile", err)
	}
	if _, err := windows.CreateIoCompletionPort(h, port, 0, 0); err != nil {
		windows.CloseHandle(h)
		return nil, os.NewSyscallError("CreateIoCompletionPort", err)
	}
	return &device{handle: h}, nil
}

func (q *queue) request(p *poll) error {
	d, err := q.device()
	if err != nil {
		return err
	}
	r, _ := p.sys.(*request)
	if r == nil {
		r = &request{poll: p}
		p.sys = r
	}
	r.overlapped = windows.Overlapped{}
	r.info = pollInfo{
		timeout: 1<<63 - 1, handles: 1,
		handle: baseHandle(windows.Handle(p.fd)), events: pollEnds,
	}
	info := (*byte)(unsafe.Pointer(&r.info))
	err = windows.DeviceIoControl(d.handle, ioctlPoll, info, pollInfoSize, info, pollInfoSize, nil, &r.overlapped)
	// Even if the poll has ended already, its end is reported on the queue.
	if err != nil && err != windows.ERROR_IO_PENDING {
		return os.NewSyscallError("DeviceIoControl", err)
	}
	r.device = d
	if d.polls++; d.polls == devicePolls {
		q.room = q.room[:len(q.room)-1]
	}
	return nil
}

func (q *queue) cancel(p *poll) {
	r := p.sys.(*request)
	_ = windows.CancelIoEx(r.device.handle, &r.overlapped) // it fails where the poll has ended
}

// next is called without the lock that the others are called under.
func (q *queue) next(wait bool) (*poll, error) {
	timeout := uint32(0)
	if wait {
		timeout = windows.INFINITE
	}
	var n uint32
	var key uintptr
	var o *windows.Overlapped
	err := windows.GetQueuedCompletionStatus(q.port, &n, &key, &o, timeout)
	switch {
	case o != nil: // with an error it is a poll that was cancelled, or failed
		return (*request)(unsafe.Pointer(o)).poll, nil
	case err == nil || err == windows.WAIT_TIMEOUT:
		return nil, nil
	}
	return nil, os.NewSyscallError("GetQueuedCompletionStatus", err)
}

func (q *queue) ended(p *poll) {
	r := p.sys.(*request)
	if r.device.polls--; r.device.polls == devicePolls-1 {
		q.room = append(q.room, r.device)
	}
	r.device = nil
}

func (q *queue) stop() { _ = windows.PostQueuedCompletionStatus(q.port, 0, 0, nil) }

func (q *queue) free() {
	for _, d := range q.devices {
		windows.CloseHandle(d.handle)
	}
	windows.CloseHandle(q.port)
}

func baseHandle(socket windows.Handle) windows.Handle {
	var base windows.Handle
	var n uint32
	err := windows.WSAIoctl(socket, sioBaseHandle, nil, 0,
		(*byte)(unsafe.Pointer(&base)), uint32(unsafe.Sizeof(base)), &n, nil, 0)
	if err != nil || base == 0 {
		return socket
	}
	return base
}
