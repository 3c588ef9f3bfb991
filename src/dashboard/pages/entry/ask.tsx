/**
 * Another wording for a selected text, by the assistant: what is wanted and what it suggests stand below the text, in the editor. Nothing changes before
 * the suggestion is taken, and it is taken only for the text it was made for.
 */
import { type Extension, StateEffect, StateField } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, WidgetType } from '@codemirror/view';
import { Button, Group, Loader, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconCheck, IconX } from '@tabler/icons-react';
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { createPortal } from 'react-dom';
import { useTranslation } from 'react-i18next';
import { SuggestText } from '../../documents.ts';
import { send } from '../../lib/command.ts';
import type { Fault } from '../../lib/faults.ts';
import { usePlace } from '../../lib/place.ts';
import { FaultAlert } from '../../parts/fault-alert.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import classes from './ask.module.css';
import { blockAt } from './visual/blocks.ts';

/** Characters of a text that can be sent, and of what goes along from before and after it. */
const longest = { text: 20_000, around: 4_000 };

interface Span {
  from: number;
  to: number;
}

/** An element that React draws to. */
class Host extends WidgetType {
  readonly #element: HTMLElement;
  constructor(element: HTMLElement) {
    super();
    this.#element = element;
  }
  override eq(other: Host): boolean {
    return other.#element === this.#element;
  }
  override toDOM(): HTMLElement {
    return this.#element;
  }
  override ignoreEvent(): boolean {
    return true;
  }
}

const begin = StateEffect.define<Span & { element: HTMLElement }>();
const end = StateEffect.define<null>();

/** The text in question goes along with what is written around it. */
const passage = StateField.define<{ span: Span; shown: DecorationSet } | null>({
  create: () => null,
  update(known, { changes, effects, newDoc }) {
    let next = known && {
      span: { from: changes.mapPos(known.span.from, 1), to: changes.mapPos(known.span.to, -1) },
      shown: known.shown.map(changes),
    };
    for (const effect of effects) {
      if (effect.is(end)) next = null;
      if (!effect.is(begin)) continue;
      const { from, to, element } = effect.value;
      const text = Decoration.mark({ class: classes.passage ?? '' }).range(from, to);
      const below = Decoration.widget({ widget: new Host(element), block: true, side: 1 });
      next = { span: { from, to }, shown: Decoration.set([text, below.range(newDoc.lineAt(to).to)]) };
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field, (value) => value?.shown ?? Decoration.none),
});

/** What is selected, or else the block with the caret; null where there is none. */
function passageAt({ state }: EditorView): Span | null {
  const { empty, head } = state.selection.main;
  const found = empty ? blockAt(state, head) : state.selection.main;
  if (!found || state.sliceDoc(found.from, found.to).trim() === '') return null;
  return { from: found.from, to: found.to };
}

const usual = ['improve', 'shorten', 'correct', 'simplify'] as const;

interface AskProps {
  view: EditorView;
  onClose: () => void;
}

export function Ask({ view, onClose }: AskProps) {
  const { t } = useTranslation(['entry', 'common']);
  const { organization, project } = usePlace();
  const [element] = useState(() => document.createElement('div'));
  const [original, setOriginal] = useState<string | null>(null);
  const [instruction, setInstruction] = useState('');
  const [suggestion, setSuggestion] = useState<string | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  const [isOld, setOld] = useState(false);
  const request = useRef<AbortController | null>(null);
  const [isRunning, setRunning] = useState(false);

  useEffect(() => {
    const span = passageAt(view);
    setOriginal(span && view.state.sliceDoc(span.from, span.to));
    if (!span) {
      notifications.show({ message: t('ask_nothing') });
      return onClose();
    }
    const isKnown = view.state.field(passage, false) !== undefined;
    const added: StateEffect<Extension>[] = isKnown ? [] : [StateEffect.appendConfig.of(passage)];
    view.dispatch({ effects: [...added, begin.of({ ...span, element })] });
    const sizes = new ResizeObserver(() => view.requestMeasure());
    sizes.observe(element);
    element.querySelector('input')?.focus();
    return () => {
      sizes.disconnect();
      request.current?.abort();
      view.dispatch({ effects: end.of(null) });
    };
  }, [view, element]);

  const span = () => view.state.field(passage, false)?.span ?? null;
  const current = () => {
    const at = span();
    return at && view.state.sliceDoc(at.from, at.to);
  };
  const ask = async (wanted: string) => {
    const at = span();
    const text = current();
    if (!at || !text || wanted.trim() === '' || isRunning) return;
    const controller = new AbortController();
    request.current = controller;
    setOriginal(text);
    setSuggestion(null);
    setFault(null);
    setOld(false);
    setRunning(true);
    const { doc } = view.state;
    const input = {
      ...{ text, instruction: wanted },
      before: doc.sliceString(Math.max(0, at.from - longest.around), at.from),
      after: doc.sliceString(at.to, Math.min(doc.length, at.to + longest.around)),
    };
    const { data, fault } = await send(
      SuggestText,
      { organization, project, input },
      { fetchOptions: { credentials: 'same-origin', signal: controller.signal } },
    );
    if (controller.signal.aborted) return;
    setRunning(false);
    setFault(fault);
    setSuggestion(data?.suggestText?.text ?? null);
  };
  const cancel = () => {
    request.current?.abort();
    setRunning(false);
  };
  const take = () => {
    const at = span();
    if (!at || suggestion === null || view.state.readOnly) return;
    if (current() !== original) return setOld(true);
    view.dispatch({
      changes: { ...at, insert: suggestion },
      selection: { anchor: at.from, head: at.from + suggestion.length },
      scrollIntoView: true,
      userEvent: 'input.suggestion',
    });
    onClose();
    view.focus();
  };
  const leave = () => {
    onClose();
    view.focus();
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    void ask(instruction);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    event.preventDefault();
    event.stopPropagation();
    leave();
  };
  const isLong = original !== null && original.length > longest.text;
  return createPortal(
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape leaves from every field in it
    <div className={classes.ask} onKeyDown={onKeyDown}>
      <Stack gap="xs" component="section" aria-label={t('ask_about')}>
        <form onSubmit={onSubmit}>
          <Group gap="xs" wrap="nowrap">
            <TextInput
              className={classes.instruction}
              size="xs"
              aria-label={t('ask_what')}
              placeholder={t('ask_what')}
              value={instruction}
              maxLength={4_000}
              onChange={(event) => setInstruction(event.currentTarget.value)}
            />
            <Button size="xs" type="submit" loading={isRunning} disabled={instruction.trim() === '' || isLong}>
              {t('ask')}
            </Button>
          </Group>
        </form>
        {suggestion === null && !isRunning && (
          <Group gap={6}>
            {usual.map((name) => (
              <Button
                key={name}
                size="compact-sm"
                variant="default"
                disabled={isLong}
                onClick={() => void ask(t(`ask_${name}_text`))}
              >
                {t(`ask_${name}`)}
              </Button>
            ))}
          </Group>
        )}
        {isLong && <Text size="xs">{t('ask_long', { count: longest.text })}</Text>}
        <div role="status">
          {isRunning && (
            <Group gap="xs">
              <Loader size="xs" />
              <Text size="xs">{t('ask_running')}</Text>
              <Button size="compact-sm" variant="default" onClick={cancel}>
                {t('common:cancel')}
              </Button>
            </Group>
          )}
          {suggestion !== null && (
            <section className={classes.suggestion} aria-label={t('suggestion')} dir="auto">
              <MarkedText text={suggestion} />
            </section>
          )}
        </div>
        <FaultAlert fault={fault} />
        {isOld && (
          <Text size="xs" role="alert">
            {t('ask_old')}
          </Text>
        )}
        <Group gap="xs">
          {suggestion !== null && (
            <Button size="compact-sm" leftSection={<IconCheck size={14} />} onClick={take} disabled={isOld}>
              {t('take_suggestion')}
            </Button>
          )}
          <Button size="compact-sm" variant="subtle" color="gray" leftSection={<IconX size={14} />} onClick={leave}>
            {t(suggestion === null ? 'common:close' : 'leave_suggestion')}
          </Button>
        </Group>
      </Stack>
    </div>,
    element,
  );
}
