/* Structures that point to each other, directly, through functions and through other names. */
typedef struct State State;
typedef long (*Function)(State *state);
typedef union Value {
  Function function;
  double number;
} Value;
typedef struct Tagged {
  Value value;
  unsigned char tag;
} Tagged;
typedef union Slot {
  Tagged tagged;
  struct {
    Value value;
    unsigned char tag;
    unsigned short delta;
  } list;
} Slot;
typedef Slot *Index;
typedef union {
  Index pointer;
  long offset;
} Place;
struct State {
  int kind;
  Place top;
  Tagged nil;
};
struct Holder;
struct Held {
  struct Holder *holder;
  int key;
};
struct Holder {
  struct Held held[3];
  char last;
};
struct Outer {
  struct Inner *inner;
  char sized[sizeof(struct Held)];
  int numbers[3];
};
struct Inner {
  struct Outer outer;
  struct Outer *back;
};

long t_sizes(long k) { return sizeof(Slot) * 100 + sizeof(State) + sizeof(Value) * k; }

long t_holders(long k) { return sizeof(struct Holder) * 1000 + sizeof(struct Held) + k; }

long t_nested(long k) { return sizeof(struct Inner) * 1000 + sizeof(struct Outer) * k; }

static long kind(State *state) { return state->kind; }

long t_steps(long k) {
  Slot slots[8];
  State state = {7, {0}, {{0}, 0}};
  for (int i = 0; i < 8; i++) {
    slots[i].tagged.value.function = kind;
    slots[i].tagged.tag = (unsigned char)(i * 3);
  }
  state.top.pointer = slots;
  state.top.pointer += k;
  slots[k].list.delta = 500;
  return state.top.pointer->tagged.tag + (state.top.pointer + 1)->tagged.value.function(&state) +
         state.top.pointer->list.delta;
}

long t_links(long k) {
  struct Holder holders[2];
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 3; j++) {
      holders[i].held[j].holder = &holders[1 - i];
      holders[i].held[j].key = 10 * i + j;
    }
  struct Holder *at = holders;
  long sum = 0;
  for (long i = 0; i <= k; i++) {
    sum = 3 * sum + at->held[i % 3].key;
    at = at->held[i % 3].holder;
  }
  return sum;
}
