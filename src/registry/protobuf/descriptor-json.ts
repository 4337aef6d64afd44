// The shapes of descriptors as proto3 JSON (google/protobuf/descriptor.proto): what from-descriptor.ts reads and
// to-descriptor.ts writes. Only members that a schema needs are named.

export interface OptionsJson {
  readonly [member: string]: unknown
  readonly mapEntry?: boolean
}

export interface FileJson {
  name?: string
  package?: string
  dependency?: string[]
  publicDependency?: number[]
  weakDependency?: number[]
  messageType?: MessageJson[]
  enumType?: EnumJson[]
  service?: ServiceJson[]
  extension?: FieldJson[]
  options?: OptionsJson
  syntax?: string
}

export interface RangeJson {
  start?: number
  /** Exclusive for messages, inclusive for enums. */
  end?: number
  options?: OptionsJson
}

export interface MessageJson {
  name?: string
  field?: FieldJson[]
  extension?: FieldJson[]
  nestedType?: MessageJson[]
  enumType?: EnumJson[]
  extensionRange?: RangeJson[]
  oneofDecl?: OneofJson[]
  options?: OptionsJson
  reservedRange?: RangeJson[]
  reservedName?: string[]
}

export interface OneofJson {
  name?: string
  options?: OptionsJson
}

export interface FieldJson {
  name?: string
  number?: number
  label?: string
  type?: string
  typeName?: string
  extendee?: string
  defaultValue?: string
  oneofIndex?: number
  jsonName?: string
  options?: OptionsJson
  proto3Optional?: boolean
}

export interface EnumJson {
  name?: string
  value?: EnumValueJson[]
  options?: OptionsJson
  reservedRange?: RangeJson[]
  reservedName?: string[]
}

export interface EnumValueJson {
  name?: string
  number?: number
  options?: OptionsJson
}

export interface ServiceJson {
  name?: string
  method?: MethodJson[]
  options?: OptionsJson
}

export interface MethodJson {
  name?: string
  inputType?: string
  outputType?: string
  options?: OptionsJson
  clientStreaming?: boolean
  serverStreaming?: boolean
}

export const FILE_OPTIONS = 'google.protobuf.FileOptions'
export const MESSAGE_OPTIONS = 'google.protobuf.MessageOptions'
export const FIELD_OPTIONS = 'google.protobuf.FieldOptions'
export const ONEOF_OPTIONS = 'google.protobuf.OneofOptions'
export const RANGE_OPTIONS = 'google.protobuf.ExtensionRangeOptions'
export const ENUM_OPTIONS = 'google.protobuf.EnumOptions'
export const ENUM_VALUE_OPTIONS = 'google.protobuf.EnumValueOptions'
export const SERVICE_OPTIONS = 'google.protobuf.ServiceOptions'
export const METHOD_OPTIONS = 'google.protobuf.MethodOptions'
