// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/benchmark/internal/service"
)

// Chat answers the messages of a stream until the client has sent all.
func Chat(b *service.Bench, t Talk) error {
	return b.Chat(serverTalk{Talk: t})
}

// Pull sends the messages that r asks for.
func Pull(b *service.Bench, r *benchpb.PullRequest, s Sink) error {
	return b.Pull(r, serverSink{Sink: s})
}

// Push counts the messages that s brings, and returns the answer when the client has sent all.
func Push(b *service.Bench, s Source) (*benchpb.PushSummary, error) {
	messages := &serverSource{Source: s}
	err := b.Push(messages)
	return messages.answer, err
}

// What the embedded interfaces would add is not called.
type serverTalk struct {
	grpc.ServerStream
	Talk
}

type serverSink struct {
	grpc.ServerStream
	Sink
}

type serverSource struct {
	grpc.ServerStream
	Source
	answer *benchpb.PushSummary
}

func (s *serverSource) SendAndClose(answer *benchpb.PushSummary) error {
	s.answer = answer
	return nil
}
