// The messages of google/type, one body for each file (package google.type, proto3).

const DAYS = ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY', 'SUNDAY']
const MONTHS = [
  ...['JANUARY', 'FEBRUARY', 'MARCH', 'APRIL', 'MAY', 'JUNE', 'JULY', 'AUGUST', 'SEPTEMBER', 'OCTOBER', 'NOVEMBER'],
  'DECEMBER',
]
const PERIODS = ['DAY', 'WEEK', 'FORTNIGHT', 'MONTH', 'QUARTER', 'HALF', 'YEAR']

export const TYPE_BODIES: Readonly<Record<string, string>> = {
  calendar_period: enumOf('CalendarPeriod', ['CALENDAR_PERIOD_UNSPECIFIED', ...PERIODS]),
  color: `import "google/protobuf/wrappers.proto";
    message Color { float red = 1; float green = 2; float blue = 3; google.protobuf.FloatValue alpha = 4; }`,
  date: 'message Date { int32 year = 1; int32 month = 2; int32 day = 3; }',
  datetime: `import "google/protobuf/duration.proto";
    message DateTime { int32 year = 1; int32 month = 2; int32 day = 3; int32 hours = 4; int32 minutes = 5;
      int32 seconds = 6; int32 nanos = 7;
      oneof time_offset { google.protobuf.Duration utc_offset = 8; TimeZone time_zone = 9; } }
    message TimeZone { string id = 1; string version = 2; }`,
  dayofweek: enumOf('DayOfWeek', ['DAY_OF_WEEK_UNSPECIFIED', ...DAYS]),
  decimal: 'message Decimal { string value = 1; }',
  expr: 'message Expr { string expression = 1; string title = 2; string description = 3; string location = 4; }',
  fraction: 'message Fraction { int64 numerator = 1; int64 denominator = 2; }',
  interval: `import "google/protobuf/timestamp.proto";
    message Interval { google.protobuf.Timestamp start_time = 1; google.protobuf.Timestamp end_time = 2; }`,
  latlng: 'message LatLng { double latitude = 1; double longitude = 2; }',
  localized_text: 'message LocalizedText { string text = 1; string language_code = 2; }',
  money: 'message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }',
  month: enumOf('Month', ['MONTH_UNSPECIFIED', ...MONTHS]),
  phone_number: `message PhoneNumber {
      message ShortCode { string region_code = 1; string number = 2; }
      oneof kind { string e164_number = 1; ShortCode short_code = 2; }
      string extension = 3; }`,
  postal_address: `message PostalAddress { int32 revision = 1; string region_code = 2; string language_code = 3;
      string postal_code = 4; string sorting_code = 5; string administrative_area = 6; string locality = 7;
      string sublocality = 8; repeated string address_lines = 9; repeated string recipients = 10;
      string organization = 11; }`,
  quaternion: 'message Quaternion { double x = 1; double y = 2; double z = 3; double w = 4; }',
  timeofday: 'message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }',
}

function enumOf(name: string, values: readonly string[]): string {
  return `enum ${name} { ${values.map((value, number) => `${value} = ${number};`).join(' ')} }`
}
