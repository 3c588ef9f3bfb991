/**
 * Texts of the dashboard, which are all in `messages/`. Those of the sign-in are loaded with the program in English; others when they are wanted:
 * a language when it is chosen, and the texts of pages with the pages.
 */
import { createInstance } from 'i18next';
import { initReactI18next } from 'react-i18next';
import type { Messages } from '../messages/en/inside.ts';
import { outside } from '../messages/en/outside.ts';

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'common';
    resources: Messages['outside'] &
      Messages['inside'] &
      Messages['assistant'] &
      Messages['entry'] &
      Messages['environment'] &
      Messages['workflows'];
  }
}

/** Languages of the dashboard by code, with their own names. */
export const languages = { en: 'English', de: 'Deutsch' } as const;
export type Language = keyof typeof languages;

type Loaders = { [Part in keyof Messages]: () => Promise<Messages[Part]> };
const loaders: Record<Language, Loaders> = {
  en: {
    outside: async () => outside,
    inside: async () => (await import('../messages/en/inside.ts')).inside,
    assistant: async () => ({ assistant: (await import('../messages/en/assistant.ts')).default }),
    entry: async () => ({ entry: (await import('../messages/en/entry.ts')).default }),
    environment: async () => ({ environment: (await import('../messages/en/environment.ts')).default }),
    workflows: async () => ({ workflows: (await import('../messages/en/workflows.ts')).default }),
  },
  de: {
    outside: async () => (await import('../messages/de/outside.ts')).outside,
    inside: async () => (await import('../messages/de/inside.ts')).inside,
    assistant: async () => {
      const [assistant, served] = await Promise.all([
        import('../messages/de/assistant.ts'),
        import('../messages/de/served.ts'),
      ]);
      const texts = { assistant: assistant.default, served: served.default };
      return texts;
    },
    entry: async () => ({ entry: (await import('../messages/de/entry.ts')).default }),
    environment: async () => ({ environment: (await import('../messages/de/environment.ts')).default }),
    workflows: async () => ({ workflows: (await import('../messages/de/workflows.ts')).default }),
  },
};

export const i18n = createInstance();
void i18n.use(initReactI18next).init({
  lng: 'en',
  fallbackLng: 'en',
  resources: { en: outside },
  defaultNS: 'common',
  // React escapes.
  interpolation: { escapeValue: false },
  returnNull: false,
});

const isLanguage = (code: string): code is Language => Object.hasOwn(languages, code);

const storageKey = 'portico:language';

/** The language of the account that was last used in this browser, otherwise the first one of the browser that there is. */
export function firstLanguage(): Language {
  const kept = localStorage.getItem(storageKey) ?? '';
  return [kept, ...navigator.languages.map((code) => code.slice(0, 2))].find(isLanguage) ?? 'en';
}

/** Parts that pages which were opened needed, and will need in another language. */
const parts = new Set<keyof Messages>(['outside']);

async function load(language: Language, part: keyof Messages): Promise<void> {
  const texts = await loaders[language][part]();
  for (const [namespace, resources] of Object.entries(texts)) i18n.addResourceBundle(language, namespace, resources);
}

/** Loads a part of the texts, in the language of now and in each that is set later. */
export async function loadTexts(part: keyof Messages): Promise<void> {
  parts.add(part);
  await load(isLanguage(i18n.language) ? i18n.language : 'en', part);
}

/** Shows all texts in another language. One there are no texts for, which only the API sets, changes nothing. */
export async function setLanguage(code: string): Promise<void> {
  if (!isLanguage(code)) return;
  localStorage.setItem(storageKey, code);
  await Promise.all([...parts].map((part) => load(code, part)));
  document.documentElement.lang = code;
  await i18n.changeLanguage(code);
}
