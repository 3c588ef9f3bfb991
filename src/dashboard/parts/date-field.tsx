/** Inputs of a day and of a time of day: typed as people write them, and a day also chosen in a calendar, which is loaded when it is opened. */
import { ActionIcon, Popover, TextInput, type TextInputProps } from '@mantine/core';
import { IconCalendar } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { readDay, readTime, showDay } from '../lib/typed-date.ts';
import { Waiting } from '../shell/states.tsx';

const DatePicker = lazy(async () => {
  const [{ DatePicker }] = await Promise.all([
    import('@mantine/dates'),
    import('@mantine/dates/styles.css'),
    import('dayjs/locale/de'),
  ]);
  return { default: DatePicker };
});

interface TypedProps extends Omit<TextInputProps, 'value' | 'onChange' | 'type'> {
  value: string;
  /** '' when it is emptied; texts that are no value stay in the field, with an error once it is left. */
  onChange: (value: string) => void;
}

/** What an input shows while something is typed that is, or is not yet, a value. */
function useTyped(
  { value, onChange }: Pick<TypedProps, 'value' | 'onChange'>,
  read: (text: string) => string | null,
  shown: string,
) {
  const [typed, setTyped] = useState<string | null>(null);
  const [isLeft, setLeft] = useState(false);
  const valueIn = (text: string) => (text.trim() === '' ? '' : read(text));
  const own = typed === null ? null : valueIn(typed);
  // A value that came from elsewhere takes the place of what was typed.
  const isTyped = typed !== null && (own === null || own === value);
  return {
    isWrong: isTyped && own === null && isLeft,
    drop: () => setTyped(null),
    input: {
      value: isTyped ? typed : shown,
      onChange: (text: string) => {
        setTyped(text);
        setLeft(false);
        const next = valueIn(text);
        if (next !== null && next !== value) onChange(next);
      },
      onBlur: () => {
        if (own === null) setLeft(true);
        else setTyped(null);
      },
    },
  };
}

interface DateFieldProps extends TypedProps {
  /** The name of the field, for the button of the calendar. */
  name: string;
  /** The field stands in a popover, which a click outside closes. */
  inPopover?: boolean;
}

export function DateField({ name, inPopover = false, value, onChange, ...props }: DateFieldProps) {
  const { t, i18n } = useTranslation('common');
  const [isOpen, setOpen] = useState(false);
  const { language } = i18n;
  const { input, isWrong, drop } = useTyped(
    { value, onChange },
    (text) => readDay(text, language),
    showDay(value, language),
  );
  const day = readDay(value, language);
  const isFixed = props.readOnly || props.disabled;
  const calendar = (
    <Popover
      opened={isOpen}
      onChange={setOpen}
      position="bottom-end"
      floatingStrategy="fixed"
      withinPortal={!inPopover}
      trapFocus
      returnFocus
    >
      <Popover.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          aria-label={t('choose_day', { name })}
          onClick={() => setOpen(!isOpen)}
        >
          <IconCalendar size={16} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('choose_day', { name })}>
        {isOpen && (
          <Suspense fallback={<Waiting rows={6} />}>
            <DatePicker
              value={day}
              {...(day !== null && { defaultDate: day })}
              locale={language}
              firstDayOfWeek={1}
              ariaLabels={{
                previousMonth: t('previous_month'),
                nextMonth: t('next_month'),
                previousYear: t('previous_year'),
                nextYear: t('next_year'),
                previousDecade: t('previous_decade'),
                nextDecade: t('next_decade'),
                monthLevelControl: t('choose_month'),
                yearLevelControl: t('choose_year'),
              }}
              onChange={(next) => {
                drop();
                if (typeof next === 'string') onChange(next);
                setOpen(false);
              }}
            />
          </Suspense>
        )}
      </Popover.Dropdown>
    </Popover>
  );
  return (
    <TextInput
      autoComplete="off"
      placeholder={t('day_example')}
      {...props}
      {...input}
      onChange={(event) => input.onChange(event.currentTarget.value)}
      error={props.error ?? (isWrong && t('no_day', { example: t('day_example') }))}
      rightSection={isFixed ? null : calendar}
    />
  );
}

interface TimeFieldProps extends TypedProps {
  /** The form in which a typed time is to be the value. */
  complete?: (time: string) => string;
}

export function TimeField({ value, onChange, complete = (time) => time, ...props }: TimeFieldProps) {
  const { t } = useTranslation('common');
  const read = (text: string) => {
    const time = readTime(text);
    return time === null ? null : complete(time);
  };
  const { input, isWrong } = useTyped({ value, onChange }, read, value);
  return (
    <TextInput
      autoComplete="off"
      placeholder="14:30"
      {...props}
      {...input}
      onChange={(event) => input.onChange(event.currentTarget.value)}
      error={props.error ?? (isWrong && t('no_time'))}
    />
  );
}
