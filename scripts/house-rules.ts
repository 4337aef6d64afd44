// Checks the house rules on the text of the files: floors, packages, cycles, dead files, banned words, names, and the
// heads of handlers. Each finding says how to fix it. Rules that need judgement are in STYLE.md; prose-rules.ts
// checks the sentences. This file reads no other file itself.

import { dirname, join } from 'node:path'
import { SHARED } from './console-build.mjs'

/** The files of src/api without zod that commands load. */
const WORDS = ['schema-words', 'words']

/** The text of each file, by its path in the repository. */
export type Sources = ReadonlyMap<string, string>

export interface Finding {
  readonly file: string
  readonly line: number
  readonly text: string
  readonly instead: string
}

/** An import goes to the same room or to a lower floor (ARCHITECTURE.md). */
const FLOORS: Readonly<Record<string, number>> = {
  base: 0,
  api: 1,
  protocol: 1,
  settings: 1,
  telemetry: 1,
  store: 2,
  tls: 2,
  log: 3,
  registry: 3,
  auth: 3,
  cluster: 3,
  coordinator: 4,
  tier: 4,
  admin: 5,
  kafka: 6,
  http: 6,
  mcp: 6,
  cli: 6,
  'broker.ts': 7,
  'start.ts': 8,
  'main.ts': 9,
}

/** External packages and the only places that may import them; Node's own modules are free. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  '@aws-sdk/client-s3': ['src/tier/objects/s3-client.ts'],
  '@node-rs/crc32': ['src/base/'],
  hyparquet: ['src/tier/columns/', 'testing/foreign-file.ts'],
  'hyparquet-writer': ['src/tier/columns/', 'testing/foreign-file.ts'],
  '@redis/client': ['testing/redis.ts'],
  ajv: ['src/registry/json/'],
  'ajv-draft-04': ['src/registry/json/'],
  // In the registry it is only the judge of tests.
  avsc: ['src/tier/iceberg/', 'testing/iceberg-audit.ts', 'testing/avro.ts'],
  // Only the judge of tests.
  protobufjs: ['src/registry/protobuf/judge.test.ts'],
  lmdb: ['src/store/embedded/'],
  'lz4-napi': ['src/protocol/'],
  snappy: ['src/protocol/'],
  yaml: ['src/settings/'],
  fastify: ['src/http/'],
  '@fastify/compress': ['src/http/'],
  '@fastify/cookie': ['src/http/'],
  '@fastify/swagger': ['src/http/'],
  '@fastify/swagger-ui': ['src/http/'],
  'fastify-type-provider-zod': ['src/http/'],
  // The console takes only types of it.
  zod: ['src/api/', 'src/http/', 'src/mcp/', 'console/', 'testing/registry-face.ts'],
  '@modelcontextprotocol/server': ['src/mcp/endpoint.ts', 'src/mcp/server.ts'],
  // Only tests have a client of agent tools.
  '@modelcontextprotocol/client': ['src/mcp/', 'src/http/', 'testing/', 'e2e/'],
  jose: ['src/auth/', 'testing/identity-provider.ts'],
  'openid-client': ['src/auth/'],
  'oidc-provider': ['e2e/'],
  'playwright-core': ['e2e/', 'bench/console/'],
  '@axe-core/playwright': ['e2e/'],
  kafkajs: ['e2e/'],
  '@platformatic/kafka': ['e2e/'],
  'fast-check': ['testing/property.ts'],
  react: ['console/'],
  'react-dom': ['console/'],
  '@tanstack/react-query': ['console/'],
  '@tanstack/react-router': ['console/'],
  'lucide-react': ['console/'],
  uplot: ['console/'],
  '@codemirror/commands': ['console/'],
  '@codemirror/lang-json': ['console/'],
  '@codemirror/language': ['console/'],
  '@codemirror/search': ['console/'],
  '@codemirror/state': ['console/'],
  '@codemirror/view': ['console/'],
  '@tailwindcss/vite': ['console/vite.config.ts'],
  '@vitejs/plugin-react': ['console/vite.config.ts'],
  vite: ['console/vite.config.ts', 'console/served-files.ts'],
}

/** The files of console/ that build it, and do not run in a browser. */
const BUILD_CONSOLE = ['console/vite.config.ts', 'console/served-files.ts']

/** The places of the console that keep time and talk to the browser for the others. */
const TIMED_IN_CONSOLE = ['console/api/', 'console/shell/']

interface Ban {
  readonly pattern: RegExp
  readonly instead: string
  readonly allowed: readonly string[]
  /** The only folder in which the ban holds; by default it holds everywhere. */
  readonly within?: string
}

const BANS: readonly Ban[] = [
  {
    pattern: /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bprocess\.hrtime\b/,
    instead: 'take a Clock (base/clock.ts)',
    allowed: ['src/base/clock.ts', ...TIMED_IN_CONSOLE],
  },
  {
    pattern: /\b(setTimeout|setInterval|setImmediate)\(/,
    instead: 'use clock.timer or clock.soon (base/clock.ts)',
    allowed: ['src/base/clock.ts', ...TIMED_IN_CONSOLE],
  },
  {
    pattern: /\bMath\.random\b|\brandomBytes\(|\brandomInt\(|\brandomUUID\(/,
    instead: 'take a Random (base/random.ts)',
    allowed: ['src/base/random.ts'],
  },
  {
    pattern: /\bprocess\.env\b/,
    instead: 'add a row to settings/settings.ts',
    allowed: ['src/main.ts', 'src/settings/'],
  },
  {
    pattern: /\bconsole\.\w+\(/,
    instead: 'log through telemetry/logger.ts',
    allowed: ['src/main.ts', ...TIMED_IN_CONSOLE],
  },
  {
    pattern: /\brejectUnauthorized: false\b|\bcheckServerIdentity\b/,
    instead: 'verify the certificate and the name of the other side, as Node does',
    // The first judges client certificates itself, and the second has pins in place of names.
    allowed: ['src/kafka/connection/handshake.ts', 'src/kafka/peer-tls.ts'],
  },
  { pattern: /\b(FIXME|TODO|XXX)\b/, instead: 'finish it, or file an issue', allowed: [] },
  { pattern: /^\s*(export )?(const )?enum /, instead: 'a frozen object `as const`', allowed: [] },
  { pattern: /^export default /, instead: 'a named export', allowed: ['console/vite.config.ts'] },
  {
    pattern: /[a-z]-\[[^\]\s]+\]/,
    instead: 'use a token of console/style: a class takes no value of its own',
    allowed: [],
    within: 'console/',
  },
  { pattern: /@ts-(ignore|nocheck)/, instead: '@ts-expect-error with the reason, or better types', allowed: [] },
]

const BANNED_NAMES = /((^|[-/])(utils?|helpers?|common|misc|types|constants|manager)|(^|\/)index)\.tsx?$/

const isTest = (file: string) => file.endsWith('.test.ts')
/**
 * Files that only tests use: suites that each adapter must pass, the codec's reference, routes for tests of the HTTP
 * port, and messages that are part of other messages.
 */
const FOR_TESTS = [
  'src/http/waiting-routes.ts',
  'src/store/conformance.ts',
  'src/store/examples.ts',
  'src/store/rewrite-conformance.ts',
  'src/tier/objects/conformance.ts',
  'src/protocol/interpret.ts',
  'src/protocol/messages/consumer-protocol.ts',
]
const isProduct = (file: string) => file.startsWith('src/') && !isTest(file) && !FOR_TESTS.includes(file)
/** Runs in a browser. */
const isConsole = (file: string) => file.startsWith('console/') && !isTest(file) && !BUILD_CONSOLE.includes(file)

const IMPORT = /(?<![.\w'])(?:from|import)\s*\(?\s*'([^']+)'|new URL\('(\.[^']+\.ts)'/g

/** An import that loads code of `api`, not only types. */
const VALUE_OF_API = /^import (?!type\b)[^']*'(?:\.\.\/)+api\/([^']+)\.ts'/gm
const VALUE_IN_CONSOLE = /^import (?!type\b)[^']*'(?:\.\.\/)+src\/api\/([^']+)\.ts'/gm

interface Import {
  readonly target: string
  readonly line: number
}

/** Returns the imports of a file, as repository paths or package names. */
function importsOf(file: string, source: string): Import[] {
  return [...source.matchAll(IMPORT)].map(match => {
    const written = match[1] ?? match[2]!
    const target = written.startsWith('.') ? join(dirname(file), written) : written
    return { target, line: source.slice(0, match.index).split('\n').length }
  })
}

const roomOf = (file: string) => file.split('/')[1]!

/** Returns every violation of the house rules. All product files must be reachable from `main`. */
export function inspectHouse(sources: Sources, main = 'src/main.ts'): readonly Finding[] {
  const findings: Finding[] = []
  const fail = (file: string, line: number, text: string, instead: string) =>
    findings.push({ file, line, text, instead })
  const files = [...sources.keys()]
  const imports = new Map(files.map(file => [file, importsOf(file, sources.get(file)!)]))

  function checkFloors(): void {
    for (const [file, targets] of imports) {
      if (!file.startsWith('src/')) continue
      const floor = FLOORS[roomOf(file)]
      if (floor === undefined)
        fail(file, 1, `no room is called ${roomOf(file)}`, 'give it a floor in scripts/house-rules.ts')
      for (const { target, line } of targets) {
        if (target.startsWith('testing/') && isProduct(file)) fail(file, line, 'imports testing/', 'only tests may')
        if (target.startsWith('console/')) fail(file, line, 'imports console/', 'move what both need to src/api')
        if (!target.startsWith('src/')) continue
        if (roomOf(target) === roomOf(file) || isTest(file)) continue
        if ((FLOORS[roomOf(target)] ?? Number.POSITIVE_INFINITY) >= (floor ?? 0))
          fail(file, line, `imports ${target} of the same or a higher floor`, 'declare the shape that it needs')
      }
    }
  }

  function checkPackages(): void {
    for (const [file, targets] of imports)
      for (const { target, line } of targets) {
        if (target.startsWith('node:') || /^(src|testing|e2e|bench|scripts|console)\//.test(target)) continue
        const name = target.startsWith('@') ? target.split('/').slice(0, 2).join('/') : target.split('/')[0]!
        const places = PACKAGES[name]
        if (places === undefined) fail(file, line, `package ${name} is not listed`, 'list it in scripts/house-rules.ts')
        else if (!places.some(place => (place.endsWith('/') ? file.startsWith(place) : file.endsWith(place))))
          fail(file, line, `package ${name} is allowed only in ${places.join(', ')}`, 'go through that room')
      }
  }

  /** Finds cycles: Tarjan's strongly connected components over the product's files. Type imports count too. */
  function checkCycles(): void {
    const number = new Map<string, number>()
    const low = new Map<string, number>()
    const stack: string[] = []
    const visit = (file: string): void => {
      number.set(file, number.size)
      low.set(file, number.get(file)!)
      stack.push(file)
      for (const { target } of imports.get(file) ?? []) {
        if (!sources.has(target)) continue
        if (!number.has(target)) visit(target)
        if (stack.includes(target)) low.set(file, Math.min(low.get(file)!, low.get(target)!))
      }
      if (low.get(file) !== number.get(file)) return
      const component = stack.splice(stack.indexOf(file))
      if (component.length > 1) fail(component[0]!, 1, `cycle: ${component.join(' ')}`, 'move what both need lower')
    }
    for (const file of files) if (!number.has(file)) visit(file)
  }

  function checkDeadFiles(): void {
    const reached = new Set<string>()
    const reach = (file: string): void => {
      if (reached.has(file) || !sources.has(file)) return
      reached.add(file)
      for (const { target } of imports.get(file)!) reach(target)
    }
    reach(main)
    for (const file of files)
      if (isProduct(file) && !reached.has(file)) fail(file, 1, 'nothing that main.ts runs imports it', 'remove it')
  }

  function checkText(): void {
    for (const [file, source] of sources) {
      if (BANNED_NAMES.test(file)) fail(file, 1, 'a name that says nothing', 'name it for what it holds')
      if (!/^[a-z0-9][a-z0-9.-]*\.tsx?$/.test(file.split('/').at(-1)!)) fail(file, 1, 'not kebab-case', 'rename it')
      if (!isTest(file) && !source.startsWith('//') && !source.startsWith('#!'))
        fail(file, 1, 'no opening comment', 'say what the file is, and what it is not')
      const lines = source.split('\n')
      for (const { pattern, instead, allowed, within = '' } of BANS) {
        if (!file.startsWith(within) || allowed.some(place => file.startsWith(place))) continue
        if (file === 'scripts/house-rules.ts') continue
        const productOnly = !/FIXME|enum|default|ts-/.test(pattern.source)
        if (productOnly && !isProduct(file) && !isConsole(file)) continue
        lines.forEach((line, index) => {
          if (line.trimStart().startsWith('//') || line.trimStart().startsWith('*')) return
          const found = pattern.exec(line)
          if (found !== null) fail(file, index + 1, found[0].trim(), instead)
        })
      }
    }
  }

  /**
   * A browser loads `api` too, so it imports only zod and itself. A command must not load zod: it imports only types
   * and words.
   */
  function checkShapes(): void {
    for (const [file, targets] of imports) {
      if (isTest(file)) continue
      const source = sources.get(file)!
      if (file.startsWith('src/api/')) {
        for (const { target, line } of targets)
          if (target !== 'zod' && !target.startsWith('src/api/'))
            fail(file, line, `api imports ${target}`, 'take only zod and files of src/api: a browser loads it')
      } else if (file.startsWith('src/cli/'))
        for (const { index, 1: name } of source.matchAll(VALUE_OF_API))
          if (!WORDS.includes(name!))
            fail(file, source.slice(0, index).split('\n').length, `loads api/${name}.ts`, 'import its types alone')
    }
  }

  /** A browser loads the console: it takes types of `api`, and the code of the files that its build reads. */
  function checkConsole(): void {
    for (const [file, targets] of imports) {
      if (!isConsole(file)) continue
      for (const { target, line } of targets)
        if (/^(src\/(?!api\/)|testing\/|e2e\/|bench\/|scripts\/|node:)/.test(target))
          fail(file, line, `the console imports ${target}`, 'take only src/api: a browser loads it')
      const source = sources.get(file)!
      for (const { index } of source.matchAll(/^import (?!type\b)[^']*'zod'/gm))
        fail(file, source.slice(0, index).split('\n').length, 'loads zod', 'import its types alone')
      for (const { index, 1: name } of source.matchAll(VALUE_IN_CONSOLE))
        if (!SHARED.includes(`src/api/${name}.ts`))
          fail(file, source.slice(0, index).split('\n').length, `loads api/${name}.ts`, 'import its types alone')
    }
  }

  /** Every API has a message. A served API also has a handler of the same name whose first line states its versions. */
  function checkHandlers(): void {
    const names = (folder: string) =>
      files
        .filter(file => file.startsWith(folder) && !isTest(file))
        .map(file => file.slice(folder.length, -'.ts'.length))
        .filter(name => !['all', 'handler'].includes(name))
    const listed = sources.get('src/kafka/handlers/all.ts') ?? ''
    for (const name of names('src/kafka/handlers/')) {
      const file = `src/kafka/handlers/${name}.ts`
      const message = sources.get(`src/protocol/messages/${name}.ts`)
      if (message === undefined) {
        fail(file, 1, 'a handler without a message of the same name', 'add protocol/messages/<api>.ts')
        continue
      }
      if (!listed.includes(`'./${name}.ts'`)) fail(file, 1, 'not in handlers/all.ts', 'list it')
      const declared = /\bname: '(\w+)',\s+versions: '([\d-]+)'/.exec(message)
      const first = sources.get(file)!.split('\n')[0]!
      const expected = `// ${declared?.[1]} ${declared?.[2]}`
      if (!first.startsWith(expected)) fail(file, 1, `opens with "${first}"`, `open with "${expected}"`)
    }
  }

  checkFloors()
  checkPackages()
  checkCycles()
  checkDeadFiles()
  checkText()
  checkShapes()
  checkConsole()
  checkHandlers()
  return findings
}
