// The limits of a decoder, whatever the size of the frame. It compares a count with these limits, and with the bytes
// left, before it allocates memory (CVE-2026-111115, CVE-2026-111108; Kafka 4.4 has the same limits).

/** Elements of one array. */
export const MAX_ELEMENTS = 1_000_000

/** Array elements and tagged fields of one message together. */
export const MAX_OBJECTS = 1_000_000

/** Tagged fields of one struct in a body. */
export const MAX_TAGS = 10_000

/** Tagged fields of a request header, which is read before the client has authenticated. */
export const MAX_HEADER_TAGS = 64

/** Bytes of an unsigned varint of 32 bits. */
export const MAX_VARINT_BYTES = 5
