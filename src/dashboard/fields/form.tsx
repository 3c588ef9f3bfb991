/** A form over a store that is kept outside of React: each widget reads and writes its own value, and renders alone when that changes. */
import {
  type ComponentType,
  createContext,
  use,
  useCallback,
  useEffect,
  useEffectEvent,
  useRef,
  useSyncExternalStore,
} from 'react';
import { useTranslation } from 'react-i18next';
import type { StoredFile } from '../lib/media.ts';
import type { Field } from './field.ts';

export interface FormStore {
  subscribe: (listener: () => void) => () => void;
  /** undefined: it is not there. */
  value: (pointer: string) => unknown;
  /** undefined removes it. */
  set: (pointer: string, value: unknown) => void;
  /** Text that was typed for it and is no value; undefined: there is none. */
  unparsed: (pointer: string) => string | undefined;
  /** Keeps text that is no value, until one is set. */
  setUnparsed: (pointer: string, text: string) => void;
  state: () => {
    isLocked: boolean;
    isSaving: boolean;
    faults: ReadonlyMap<string, string>;
    marks: ReadonlySet<string>;
  };
}

/** Where the entry is, for widgets that look for others and for files. */
export interface FormPlace {
  organization: string;
  project: string;
  /** null: the default branch */
  branch: string | null;
  collection: string;
  /** Path of the entry's file; null when it has none yet. */
  path: string | null;
  /** Directory that new files come to, when nothing nearer is known. */
  mediaPath: string | null;
  /** Files of an entry lie in a directory beside it that has its name. */
  assetFolders: boolean;
  /** Stores a file in the content. @returns null when that was given up. @throws Error with the reason */
  upload: (file: File, directory: string) => Promise<StoredFile | null>;
}

export interface WidgetProps {
  field: Field;
  /** JSON Pointer of the value in the entry's frontmatter. */
  pointer: string;
}

interface Form {
  store: FormStore;
  place: FormPlace;
  /** Shows any field, by the registry; a parameter here, as the widgets it holds show fields themselves. */
  FieldView: ComponentType<WidgetProps>;
}

const FormContext = createContext<Form | null>(null);
export const FormProvider = FormContext.Provider;

export function useForm(): Form {
  const form = use(FormContext);
  if (!form) throw new Error('useForm() outside of FormProvider');
  return form;
}

/** Properties that all inputs of Mantine share. */
export interface Labels {
  label: string;
  description: string | undefined;
  error: string | undefined;
  withAsterisk: boolean;
  'aria-required': boolean;
}

export interface Bound {
  value: unknown;
  set: (value: unknown) => void;
  labels: Labels;
  isReadOnly: boolean;
}

/** A field's value with all that stands around its input. */
export function useField({ field, pointer }: WidgetProps): Bound {
  const { t } = useTranslation('entry');
  const { store } = useForm();
  const value = useSyncExternalStore(store.subscribe, () => store.value(pointer));
  const error = useSyncExternalStore(store.subscribe, () => store.state().faults.get(pointer));
  const isMarked = useSyncExternalStore(store.subscribe, () => store.state().marks.has(pointer));
  const isReadOnly = useSyncExternalStore(store.subscribe, () => store.state().isLocked);
  const set = useCallback((next: unknown) => store.set(pointer, next), [store, pointer]);
  const notes = [field.description, field.isUnknown && t('field_unknown'), isMarked && t('field_taken')];
  return {
    value,
    set,
    isReadOnly: isReadOnly || field.isReadOnly,
    labels: {
      label: field.label,
      description: notes.filter(Boolean).join(' · ') || undefined,
      error,
      withAsterisk: field.isRequired,
      'aria-required': field.isRequired,
    },
  };
}

export interface Unparsed {
  /** undefined: there is none */
  text: string | undefined;
  onFocus: () => void;
  /** The field gets back the value it had when typing began: what was typed on the way was none that is meant. */
  keep: (text: string) => void;
}

/** Text that is typed for a field and is no value yet. */
export function useUnparsed(pointer: string, { value, set }: Pick<Bound, 'value' | 'set'>): Unparsed {
  const { store } = useForm();
  const text = useSyncExternalStore(store.subscribe, () => store.unparsed(pointer));
  const isSaving = useSyncExternalStore(store.subscribe, () => store.state().isSaving);
  const before = useRef(value);
  const remember = useEffectEvent(() => {
    before.current = value;
  });
  // What is saved while somebody types was meant.
  useEffect(() => {
    if (isSaving) remember();
  }, [isSaving]);
  return {
    text,
    onFocus: () => {
      before.current = value;
    },
    keep: (typed) => {
      set(before.current);
      store.setUnparsed(pointer, typed);
    },
  };
}

/** Text that an input of text shows for a value. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
