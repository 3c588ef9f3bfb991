/**
 * Colours, sizes and letters of the dashboard; nothing else names a colour. Paper, ink and one accent, lines instead of shadows.
 * Each colour has one value for light and one for dark, with at least 4.5:1 where it carries text (WCAG 2.2, 1.4.3).
 */
import {
  type CSSVariablesResolver,
  createTheme,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
} from '@mantine/core';
import { i18n } from './lib/i18n.ts';

const teal: MantineColorsTuple = [
  '#eef6f4',
  '#d9ebe7',
  '#b3d7d0',
  '#8ac2b8',
  '#62aca0',
  '#36928a',
  '#0f5e5a',
  '#0c4f4c',
  '#0a403e',
  '#073130',
];

/** Mantine's own greys and reds, of the same paper and ink. */
const gray: MantineColorsTuple = [
  '#f8f6f0',
  '#f3f1e9',
  '#e9e6dc',
  '#dedacd',
  '#c9c5b6',
  '#a9a698',
  '#8d8f84',
  '#5a6058',
  '#3a403a',
  '#20251f',
];
const dark: MantineColorsTuple = [
  '#e7e5dd',
  '#c9c8c0',
  '#a3a89f',
  '#767d7f',
  '#4a5154',
  '#31373a',
  '#1c2023',
  '#15181a',
  '#101315',
  '#0b0d0f',
];
const red: MantineColorsTuple = [
  '#fae9e7',
  '#f5cfcb',
  '#f0a09b',
  '#e47b76',
  '#d4524f',
  '#bd3538',
  '#a3252c',
  '#8a1d24',
  '#71171d',
  '#571116',
];

/** Name: light, dark. In stylesheets `var(--p-<name>)`. */
const colours = {
  paper: ['#fbfaf5', '#15181a'],
  raised: ['#ffffff', '#1c2023'],
  sunk: ['#f3f1e9', '#101315'],
  ink: ['#20251f', '#e7e5dd'],
  soft: ['#5a6058', '#a3a89f'],
  line: ['#dedacd', '#31373a'],
  strong_line: ['#8d8f84', '#767d7f'],
  accent: ['#0f5e5a', '#7fcabf'],
  on_accent: ['#ffffff', '#0d2422'],
  wash: ['#e5efec', '#1d3331'],
  good: ['#2f6216', '#a5cf8a'],
  good_wash: ['#e9f1e2', '#1f2d18'],
  warn: ['#7a4500', '#e5b573'],
  warn_wash: ['#f8eeda', '#33270f'],
  bad: ['#a3252c', '#f0a09b'],
  bad_wash: ['#fae9e7', '#3a1f1f'],
} as const;

const values = (at: 0 | 1): Record<string, string> =>
  Object.fromEntries(Object.entries(colours).map(([name, pair]) => [`--p-${name.replace('_', '-')}`, pair[at]]));

const schemed = (at: 0 | 1): Record<string, string> => ({
  ...values(at),
  '--mantine-color-body': colours.paper[at],
  '--mantine-color-text': colours.ink[at],
  '--mantine-color-dimmed': colours.soft[at],
  '--mantine-color-placeholder': colours.soft[at],
  '--mantine-color-default': colours.raised[at],
  '--mantine-color-default-hover': colours.sunk[at],
  '--mantine-color-default-color': colours.ink[at],
  '--mantine-color-default-border': colours.line[at],
  '--mantine-color-error': colours.bad[at],
  '--mantine-color-anchor': colours.accent[at],
  '--mantine-primary-color-filled': colours.accent[at],
  '--mantine-primary-color-filled-hover': at === 0 ? '#0c4f4c' : '#9ad7ce',
  '--mantine-primary-color-contrast': colours.on_accent[at],
  '--mantine-primary-color-light': colours.wash[at],
  '--mantine-primary-color-light-hover': colours.wash[at],
  '--mantine-primary-color-light-color': colours.accent[at],
  '--input-bd': colours.strong_line[at],
});

export const resolveVariables: CSSVariablesResolver = () => ({ variables: {}, light: schemed(0), dark: schemed(1) });

const sans = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const serif = 'ui-serif, "Iowan Old Style", "Palatino Linotype", Palatino, "Source Serif 4", Georgia, serif';
const mono =
  'ui-monospace, "SF Mono", "Cascadia Mono", "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

/** Names of Mantine's colours → names of the tones that alerts have here. */
const tones: Readonly<Record<string, string>> = { red: 'bad', yellow: 'warn', green: 'good' };

/** Of dialogs and messages, in the language of now. */
const closing = () => ({ closeButtonProps: { 'aria-label': i18n.t('common:close') } });

/** The smallest size of the scale; Mantine's is smaller. */
const hint = { fontSize: '0.75rem', lineHeight: 1.4 };
const hints = { description: hint, error: hint };
const sheetTitle = { fontFamily: serif, fontSize: '1.25rem', fontWeight: 600, overflowWrap: 'anywhere' } as const;

const noMotion = { transitionProps: { duration: 0 } };
const quick = { transitionProps: { duration: 120 } };

export const theme = createTheme({
  colors: { teal, gray, dark, red },
  primaryColor: 'teal',
  primaryShade: 6,
  autoContrast: true,
  // The accent is light in the dark theme, where white on it could not be read.
  variantColorResolver: (input) => {
    const colours = defaultVariantColorsResolver(input);
    const tone = tones[input.color ?? ''];
    if (input.variant === 'light' && tone !== undefined)
      return { ...colours, background: `var(--p-${tone}-wash)`, color: `var(--p-${tone})` };
    if (input.variant !== 'filled' || input.color !== 'teal') return colours;
    return {
      ...colours,
      background: 'var(--mantine-primary-color-filled)',
      hover: 'var(--mantine-primary-color-filled-hover)',
      color: 'var(--p-on-accent)',
    };
  },
  black: colours.ink[0],
  fontFamily: sans,
  fontFamilyMonospace: mono,
  headings: {
    fontFamily: serif,
    fontWeight: '600',
    sizes: { h1: { fontSize: '1.75rem' }, h2: { fontSize: '1.25rem' }, h3: { fontSize: '1rem' } },
  },
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  spacing: { xs: '0.5rem', sm: '0.75rem', md: '1rem', lg: '1.5rem', xl: '2rem' },
  radius: { xs: '2px', sm: '4px', md: '6px', lg: '6px', xl: '6px' },
  defaultRadius: 'md',
  shadows: { xs: 'none', sm: 'none', md: 'none', lg: 'none', xl: 'none' },
  respectReducedMotion: true,
  cursorType: 'pointer',
  components: {
    Button: {
      defaultProps: { size: 'sm', variant: 'filled' },
      // Where the system is set to no motion, nothing else puts it into the middle.
      styles: { loader: { transform: 'translate(-50%, -50%)' } },
    },
    Checkbox: { defaultProps: { color: 'var(--p-accent)', iconColor: 'var(--p-on-accent)' }, styles: hints },
    Radio: { defaultProps: { color: 'var(--p-accent)', iconColor: 'var(--p-on-accent)' }, styles: hints },
    Switch: { styles: hints },
    SegmentedControl: { defaultProps: { transitionDuration: 0 } },
    // The property dir stands at the frame of an input, where it does nothing: what is typed has its own direction.
    Input: { defaultProps: { attributes: { input: { dir: 'auto' } } } },
    InputWrapper: { styles: hints },
    Tabs: {
      defaultProps: { color: 'var(--p-accent)' },
      styles: {
        root: { '--tab-border-color': 'var(--p-line)' },
        list: { flexWrap: 'nowrap', overflow: 'auto hidden' },
        tab: { flex: 'none' },
      },
    },
    TextInput: { defaultProps: { size: 'sm' } },
    Modal: {
      defaultProps: () => ({ centered: true, ...quick, overlayProps: { backgroundOpacity: 0.4 }, ...closing() }),
      styles: { title: sheetTitle, content: { border: '1px solid var(--p-line)' } },
    },
    // A header of the page it is not.
    ModalHeader: { defaultProps: { role: 'presentation' } },
    DrawerHeader: { defaultProps: { role: 'presentation' } },
    Drawer: {
      defaultProps: () => ({ ...quick, overlayProps: { backgroundOpacity: 0.4 }, ...closing() }),
      styles: { title: sheetTitle, content: { borderInlineStart: '1px solid var(--p-line)' } },
    },
    Menu: { defaultProps: { ...noMotion, shadow: 'none' } },
    Notification: {
      defaultProps: () => ({ withBorder: true, ...closing() }),
      styles: { description: { color: 'var(--p-soft)' } },
    },
    Popover: { defaultProps: noMotion },
    Tooltip: { defaultProps: { openDelay: 400, ...noMotion } },
    Select: { defaultProps: { comboboxProps: noMotion, size: 'sm', allowDeselect: false } },
  },
});
