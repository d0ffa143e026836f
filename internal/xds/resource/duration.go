// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
)

// duration converts a duration. It fails if d is out of the range that messages allow, or
// negative.
func duration(d *durationpb.Duration) (time.Duration, error) {
	if err := d.CheckValid(); err != nil {
		return 0, err
	}
	if v := d.AsDuration(); v >= 0 {
		return v, nil
	}
	return 0, fmt.Errorf("%v is negative", d.AsDuration())
}
