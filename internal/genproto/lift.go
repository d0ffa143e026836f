// SPDX-License-Identifier: Apache-2.0

//go:build never

package genproto

import _ "google.golang.org/genproto/googleapis/type/calendarperiod" // any package of that module
