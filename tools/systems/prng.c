// SPDX-License-Identifier: Apache-2.0

// The one function of bcryptprimitives.dll that Go's runtime asks for, for Wine 8, which
// lacks that library: random bytes by RtlGenRandom.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length)
{
	while (length > 0) {
		ULONG part = length > (1 << 20) ? 1 << 20 : (ULONG)length;
		if (!SystemFunction036(buffer, part))
			return FALSE;
		buffer += part;
		length -= part;
	}
	return TRUE;
}
