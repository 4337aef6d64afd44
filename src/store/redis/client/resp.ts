// The ASCII codes of the characters that RESP 2 uses, in commands and in replies.

export const STAR = 0x2a
export const PLUS = 0x2b
export const MINUS = 0x2d
export const DOLLAR = 0x24
export const COLON = 0x3a
export const ZERO = 0x30
export const NINE = 0x39
export const CR = 0x0d
export const LF = 0x0a
