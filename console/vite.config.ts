// Builds the console into console/dist. The broker serves the files that files.json there names, and no others.

import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'
import { servedFiles } from './served-files.ts'

/** The broker that `npm run dev` asks. */
const BROKER = process.env.KETCH_URL ?? 'http://127.0.0.1:8080'

/**
 * The files of the build, with the modules that are loaded together. One file is smaller than the files of its parts,
 * and a page needs fewer requests. Pages that are small share a file.
 */
const FILES = {
  /** The libraries of the frame. */
  vendor: /\/node_modules\/(react|react-dom|scheduler|@tanstack|use-sync-external-store)\//,
  /** The parts of lists, numbers and forms, which the frame does not need. */
  parts: /\/parts\/(stat|spark|filter-field|form-dialog|confirm|typed-name|new-password|silent-brokers)\.tsx$/,
  /** Few visits type a time. */
  'time-field': /\/(parts\/time-field|text\/read-instant)\.tsx?$/,
  /** The dialogs of the frame. */
  overlays: /\/shell\/(help|account|palette-list|session-dialog)\.tsx$/,
  /** The commands for terminals, and their parts. */
  commands:
    /\/(text\/((?:(?:schema|storage)-)?commands|client-properties|shell)|shell\/(command-access|listeners)|parts\/(recipe-list|client-needs))\.tsx?$/,
  /** The list of records needs these, and so does everything that opens from it. */
  'record-basics':
    /\/(pages\/messages\/selection|parts\/(payload-preview|use-schema-parts|schema-parts)|api\/tail)\.tsx?$/,
  produce: /\/(parts\/(payload|produce-[a-z]+)|text\/(hex|reindent-json))\.tsx?$/,
  records: /\/pages\/messages\/(record|compare|live|standstill|nothing|group-start|log-neighbour)[a-z-]*\.tsx?$/,
  /** Texts of records and of schemas. */
  texts: /\/(parts\/(text-block|difference)|text\/(highlight|line-diff))\.tsx?$/,
  /** The pages of schemas need these, and so does the tab of a topic. */
  'schema-basics':
    /\/(pages\/schemas\/(marks|reasons|registry-gate|words)\.tsx?|icons\/(file-plus|lock|search-check)\.mjs)$/,
  'schema-dialogs':
    /\/(pages\/schemas\/(register-schema|check|reference|level|mode|schema-draft)[a-z-]*|pages\/subject\/(delete|new)[a-z-]*)\.tsx?$/,
  subject:
    /\/(pages\/subject\/[a-z-]+\.tsx?|pages\/schemas\/schema-(by-id|text)\.tsx|icons\/(arrow-left-right|git-compare-arrows)\.mjs)$/,
  schemas: /\/pages\/schemas\//,
  configs:
    /\/(pages\/topic\/(config-edits|config-input|config-name|config-text|config-groups|refusals)|text\/read-units)\.tsx?$/,
  'topic-tabs': /\/pages\/topic\/(topic-(configuration|access|partitions)|config-row)\.tsx?$/,
  'topic-dialogs': /\/pages\/topic\/(add|delete|lost|save|config-effects)[a-z-]*\.tsx?$/,
  brokers: /\/pages\/brokers?\//,
  groups: /\/pages\/groups?\/[a-z-]+\.tsx?$/,
  topics: /\/pages\/topics\//,
  segments:
    /\/pages\/storage\/(segment|partition|retention|worker|round|job-columns|job-words|topic-field|warning)[a-z-]*\.tsx?$/,
  'remote-tier': /\/pages\/storage\/(remote-|job-dialogs|jobs-tab|status-filter)[a-z-]*\.tsx?$/,
  entrance: /\/pages\/(sign-in|setup|password)\//,
}

const isApart = (id: string) =>
  // The modules of a page are never in a file that every page loads.
  id.includes('/console/pages/') || Object.values(FILES).some(modules => modules.test(id))

/** Returns the code of a module that has only these names, and fails if one of them is used. */
const unused = (names: readonly string[], instead: string) =>
  names.map(name => `export const ${name} = () => { throw new Error('${instead}') }`).join('\n')

/** Modules of packages that the build replaces, by the end of their paths. */
const REPLACED: Readonly<Record<string, string>> = {
  /** The router gives each route a Link, 2 KiB that no page uses: a link is a PageLink (shell/address.tsx). */
  '/@tanstack/react-router/dist/esm/link.js': unused(
    ['Link', 'createLink', 'linkOptions', 'useLinkProps'],
    'use PageLink',
  ),
  /** No page reads an infinite query. */
  '/@tanstack/query-core/build/modern/infiniteQueryBehavior.js': unused(
    ['infiniteQueryBehavior', 'hasNextPage', 'hasPreviousPage'],
    'use useRead',
  ),
  /** An icon here has a size; the package's own code for it knows ten more things, and adds classes of its own. */
  '/lucide-react/dist/esm/createLucideIcon.mjs': `import { icon } from ${JSON.stringify(`${import.meta.dirname}/parts/icon.ts`)}\nexport default icon`,
}

const ICONS = '/lucide-react/dist/esm/icons/'
/** The members of an icon's data that parts/icon.ts does not read: random keys, and names. */
const UNREAD = /,\s*key: "\w+"|__iconData\.node;|\b(name: "[^"]*"|size: 24|aliases: \[[^\]]*\]),\s*/g

function replacing(): Plugin {
  return {
    name: 'replacing-modules',
    apply: 'build',
    load: id => Object.entries(REPLACED).find(([end]) => id.endsWith(end))?.[1] ?? null,
    transform: (code, id) => (id.includes(ICONS) ? { code: code.replaceAll(UNREAD, ''), map: null } : null),
  }
}

export default defineConfig({
  // React has had this hook since version 18. The shim for older ones would be loaded in vain.
  resolve: { alias: { 'use-sync-external-store/shim/with-selector': 'use-sync-external-store/with-selector' } },
  root: import.meta.dirname,
  base: '/',
  plugins: [react(), tailwind(), servedFiles(), replacing()],
  build: {
    target: 'es2023',
    outDir: 'dist',
    emptyOutDir: true,
    manifest: true,
    // The security policy of the broker allows no data: URLs for scripts and fonts, and every file is small.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // The parser of the editor's package for languages, which nothing here uses, does not say that it may go.
      treeshake: { moduleSideEffects: [{ test: /\/@lezer\//, sideEffects: false }] },
      output: {
        codeSplitting: {
          groups: [
            ...Object.entries(FILES).map(([name, test]) => ({ name, test, includeDependenciesRecursively: false })),
            // Modules that several pages share are in one file.
            { name: 'shared', minShareCount: 3, test: id => !isApart(id) },
          ],
        },
      },
    },
  },
  server: { proxy: { '^/(api/v1|actuator)/': { target: BROKER, changeOrigin: false } } },
})
