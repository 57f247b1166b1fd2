use super::*;
use crate::random::{self, Flavour, Shape};

mod against_lanes_apart;
